"""SharedLinks: how much of each link's capacity is taken, in whole units (LC+S)."""

CAP = 8  # units of a link that may be taken: 80 % of its capacity of 10 (Smith21, 5.4.2)


class SharedLinks:
    """
    Units taken on every uplink of leaves and L2 switches.

    Units are counted in unary: bit q of the k-th mask of a switch is set when at least k + 1
    units of its up-port q are taken, so one operation changes all ports of a switch.

    Parameters
    ----------
    n_leaves, n_l2 : int
        Switches of each kind.

    Attributes
    ----------
    leaf, l2 : list of tuple of int
        The `CAP` masks of each switch.
    """

    __slots__ = ("l2", "leaf")

    def __init__(self, n_leaves: int, n_l2: int) -> None:
        self.leaf: list[tuple[int, ...]] = [(0,) * CAP] * n_leaves
        self.l2: list[tuple[int, ...]] = [(0,) * CAP] * n_l2

    def copy(self) -> "SharedLinks":
        """Return an independent copy."""
        twin = SharedLinks(0, 0)
        twin.leaf, twin.l2 = self.leaf.copy(), self.l2.copy()
        return twin


def without_room(taken: tuple[int, ...], units: int) -> int:
    """
    Return the up-ports of a switch that cannot take so many units more.

    `units`: wanted on a port; `CAP` asks for ports that nobody uses.
    """
    return taken[CAP - units]


def add_units(taken: tuple[int, ...], ports: int, units: int) -> tuple[int, ...]:
    """
    Take units on some up-ports of a switch.

    Examples
    --------
    >>> add_units((0b1, 0, 0, 0, 0, 0, 0, 0), 0b11, 2)
    (3, 3, 1, 0, 0, 0, 0, 0)
    """
    shifted = (ports,) * units + taken[:-units]
    return tuple([old | new & ports for old, new in zip(taken, shifted, strict=True)])


def remove_units(taken: tuple[int, ...], ports: int, units: int) -> tuple[int, ...]:
    """
    Give units on some up-ports of a switch back.

    `ports`: ports on which at least so many units are taken.

    Examples
    --------
    >>> remove_units((3, 3, 1, 0, 0, 0, 0, 0), 0b11, 2)
    (1, 0, 0, 0, 0, 0, 0, 0)
    """
    shifted = taken[units:] + (0,) * units
    return tuple([old & ~ports | new & ports for old, new in zip(taken, shifted, strict=True)])


def fill_units(taken: tuple[int, ...], ports: int, units: int) -> tuple[int, ...]:
    """
    Take units on some up-ports of a switch, or all that is left where there is less.

    Examples
    --------
    >>> fill_units((1, 1, 1, 1, 1, 1, 1, 0), 0b11, 2)
    (3, 3, 1, 1, 1, 1, 1, 1)
    """
    full = without_room(taken, units) & ports
    return tuple([mask | full for mask in add_units(taken, ports & ~full, units)])
