"""Origin: what is known of a fabric that was read from a file, beside its numbers."""

from dataclasses import dataclass

from netsim.common.arrays import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """
    Where an imported fabric comes from, and what its file left open.

    Parameters
    ----------
    source : str
        Name of the file.
    form : str
        Its format, a key of `netsim.formats.importers.registry.FORMATS`.
    labels : tuple of str
        The file's own name of every vertex, each once; the usual name where it has none.
    assumed : tuple of str
        One sentence for everything that the file does not say and that had to be assumed.
    irregularity : str
        Why the fabric is no fat-tree, torus or dragonfly but a mere graph; empty where it is one.
    fake_roots : tuple of int
        Switches that stand for a network which the file does not show.
    ports : (E,) int array, optional
        Port by which each directed link leaves its device, as the file numbers them; -1 where it
        does not. None for files without port numbers.
    aliases : tuple of (str, int)
        Further names of vertices, with the vertex; several may share one, which then is none.
    included : tuple of str
        Other files that this one includes, which were read too.
    """

    source: str
    form: str
    labels: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    irregularity: str = ""
    fake_roots: tuple[int, ...] = ()
    aliases: tuple[tuple[str, int], ...] = ()
    ports: Ints | None = None
    included: tuple[str, ...] = ()
