"""Routes: which directed links each flow crosses, in compressed rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fabricsim.checking import wrong
from netsim.common.arrays import Bools, Floats, Ints, numbers_below


def require_routes(routes: object, error: type[ValueError]) -> None:
    """Refuse what are no routes on a fabric: kernels index by them without looking."""
    if not isinstance(routes, Routes):
        raise wrong("routes", "Routes", routes, error)
    numbers_below("links of routes", routes.links, routes.n_links, error)
    indptr, end = routes.indptr, routes.links.size
    ascends = indptr.size and indptr[0] == 0 and indptr[-1] == end
    if not ascends or (indptr[1:] < indptr[:-1]).any():
        raise error(f"indptr of routes: expected to ascend from 0 to {end}.")


@dataclass(frozen=True, slots=True, eq=False)
class PathSets:
    """Links between routers over which packets of flows are spread, for each pair of routers."""

    # (2 P + 1,): the minimal paths of pair p cross ``links[indptr[2 p]:indptr[2 p + 1]]``, and then
    # come the links of its non-minimal paths, if there are any
    indptr: Ints
    links: Ints
    share: Floats  # (n,): part of the packets on these paths that each link carries
    pair: Ints  # (F,): pair of each flow

    @property
    def has_nonminimal(self) -> Bools:
        """Whether packets of each flow may go by non-minimal paths, (F,)."""
        return np.diff(self.indptr)[2 * self.pair + 1] > 0

    def slowest(self, byte_s: Floats) -> Floats:
        """Return the longest time (F,) that a link of the minimal paths takes per byte."""
        longest = np.zeros(self.indptr.size - 1)
        crossing = np.diff(self.indptr) > 0
        if crossing.any():
            taken = self.share * byte_s[self.links]
            longest[crossing] = np.maximum.reduceat(taken, self.indptr[:-1][crossing])
        found: Floats = longest[2 * self.pair]
        return found

    def longer_by(self, weight: Floats) -> Floats:
        """Return by how much non-minimal paths are longer on average (F,); 0 without any."""
        until = np.concatenate([[0.0], np.cumsum(self.share * weight[self.links])])
        length = np.diff(until[self.indptr])
        longer: Floats = length[2 * self.pair + 1] - length[2 * self.pair]
        return np.where(self.has_nonminimal, longer, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Routes:
    """
    Directed links crossed by each flow, in CSR form.

    Parameters
    ----------
    indptr : (F + 1,) int array
        Flow f crosses ``links[indptr[f]:indptr[f + 1]]``.
    links : (nnz,) int array
        Directed links 0..n_links-1, in the order of travel.
    n_links : int
        Directed links of the fabric.
    rule : str
        How packets are spread where these are no paths but link groups, one link of each
        standing for all (`netsim.topology.multipath`); empty for paths.
    path_sets : PathSets, optional
        Where packets are spread and there are no such link groups: over which links. The path of a
        flow then is one of its paths.
    """

    indptr: Ints
    links: Ints
    n_links: int
    rule: str = ""
    path_sets: PathSets | None = None

    def __repr__(self) -> str:
        return f"<Routes: {self.n_flows} flows over {self.n_links} links>"

    @property
    def n_flows(self) -> int:
        """Number of flows."""
        return self.indptr.size - 1

    @property
    def hops(self) -> Ints:
        """Links crossed by each flow, (F,); 0 for a flow inside a node."""
        return self.indptr[1:] - self.indptr[:-1]

    def of_flow(self, flow: int) -> Ints:
        """
        Return the links that one flow crosses, in order.

        Parameters
        ----------
        flow : int
            Number of the flow.

        Returns
        -------
        (hops,) int array
            Directed links.
        """
        return self.links[self.indptr[flow] : self.indptr[flow + 1]]

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int]], n_links: int) -> "Routes":
        """
        Build routes from one list of links per flow.

        Parameters
        ----------
        lists : sequence of sequences of int
            Links of each flow in the order of travel.
        n_links : int
            Directed links of the fabric.

        Returns
        -------
        Routes
            The same routes in compressed rows.
        """
        indptr = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum([len(row) for row in lists], out=indptr[1:])
        flat = [link for row in lists for link in row]
        return cls(indptr, np.array(flat, dtype=np.int64), n_links)

    @classmethod
    def from_padded(cls, table: Ints, n_links: int) -> "Routes":
        """
        Build routes from a rectangular table padded with -1.

        Parameters
        ----------
        table : (F, width) int array
            Links of each flow in the order of travel; -1 where a flow crosses fewer.
        n_links : int
            Directed links of the fabric.

        Returns
        -------
        Routes
            The same routes in compressed rows.
        """
        used = table >= 0
        indptr = np.zeros(table.shape[0] + 1, dtype=np.int64)
        np.cumsum(used.sum(axis=1), out=indptr[1:])
        return cls(indptr, table[used], n_links)

    def between(self, before: Sequence[Ints], after: Sequence[Ints]) -> "Routes":
        """
        Return routes with links before and after those of each flow.

        Parameters
        ----------
        before, after : sequences of (F,) int arrays
            Further links in order of travel, -1 for none.

        Returns
        -------
        Routes
            The longer routes.
        """
        front, back = (np.stack(columns, axis=1) for columns in (before, after))
        hops, (more, last) = self.hops, ((part >= 0).sum(axis=1) for part in (front, back))
        indptr = np.concatenate([[0], np.cumsum(more + hops + last)])
        links = np.empty(indptr[-1], dtype=np.int64)
        start = indptr[:-1].copy()

        def put(columns: Ints) -> None:
            for column in columns.T:
                rows = column >= 0
                links[start[rows]] = column[rows]
                start[rows] += 1

        put(front)
        links[np.arange(self.links.size) + np.repeat(start - self.indptr[:-1], hops)] = self.links
        start += hops
        put(back)
        return Routes(indptr, links, self.n_links, self.rule)
