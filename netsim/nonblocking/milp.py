"""The integer program that chooses paths for a permutation, and the cut its duals give."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from netsim.common.arrays import Floats, Ints

_SOLVED = 0
_GAP = 1e-6  # flows; far above the solver's tolerance, far below the least cut, 1/2


@dataclass(frozen=True, slots=True, eq=False)
class FreeCables:
    """Cables free between two switches of a partition."""

    # leaf_up, leaf_down: (L, A): between each leaf and each of the A L2 switches of its pod
    leaf_up: Ints
    leaf_down: Ints
    # l2_up, l2_down: (P, A, T): between each L2 switch of each pod and each of its T spines
    l2_up: Ints
    l2_down: Ints


class PathProgram:
    """
    Choose paths for as many flows as possible, no cable carrying two.

    Variables: flows of a pair of leaves through each L2 index, and flows of a pair of pods through
    each L2 index and spine. Constraints: no more than the demand of a pair of leaves, no more than
    the free cables, and between pods no more through an index than go on to spines. Rows of `flows`
    are source and target leaf, source and target pod; equal rows together.
    """

    def __init__(self, free: FreeCables, flows: Ints) -> None:
        from scipy.sparse import csr_array  # noqa: PLC0415 (slow to import, and rarely needed)

        self._free, self._n_flows = free, flows.shape[0]
        self._pairs, self._demand = np.unique(flows, axis=0, return_counts=True)
        far = self._pairs[:, 2] != self._pairs[:, 3]
        self._pod_pairs, pod_pair = np.unique(self._pairs[far][:, 2:], axis=0, return_inverse=True)
        n_pairs, n_pods_pairs = self._pairs.shape[0], self._pod_pairs.shape[0]
        _, n_l2, n_spines = free.l2_up.shape
        y = np.arange(n_pairs * n_l2).reshape(n_pairs, n_l2)
        z = y.size + np.arange(n_pods_pairs * n_l2 * n_spines).reshape(-1, n_l2, n_spines)
        self._y, self._z = y, z
        rows = [
            (np.arange(n_pairs)[:, None] + 0 * y, y, 1.0),
            (self._keys(self._pairs[:, 0], free.leaf_up), y, 1.0),
            (self._keys(self._pairs[:, 1], free.leaf_down), y, 1.0),
            (self._keys(self._pod_pairs[:, 0], free.l2_up), z, 1.0),
            (self._keys(self._pod_pairs[:, 1], free.l2_down), z, 1.0),
        ]
        limits = [self._demand, *(part.ravel() for part in self._parts())]
        through = np.arange(n_pods_pairs * n_l2).reshape(-1, n_l2)
        limits.append(np.zeros(through.size, dtype=np.int64))
        base = np.cumsum([0, *(limit.size for limit in limits)])
        entries = [(row + base[i], column, sign) for i, (row, column, sign) in enumerate(rows)]
        entries.append((through[pod_pair] + base[5], y[far], 1.0))
        entries.append((np.broadcast_to(through[:, :, None], z.shape) + base[5], z, -1.0))
        self._base, self._limit = base, np.concatenate(limits).astype(np.float64)
        row, column, value = (
            np.concatenate(
                [np.ravel(np.broadcast_to(entry[k], entry[1].shape)) for entry in entries]
            )
            for k in range(3)
        )
        self._matrix = csr_array((value, (row, column)), shape=(base[-1], y.size + z.size))
        self._gain = np.zeros(y.size + z.size)
        self._gain[: y.size] = -1.0

    def solve(self, seconds: float) -> tuple[Ints, Ints] | None:
        """Return the path of every flow, or fewer rows where not all can be routed."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 (slow to import)

        result = milp(
            self._gain,
            constraints=LinearConstraint(self._matrix, ub=self._limit),
            integrality=np.ones(self._gain.size, dtype=np.int64),
            bounds=Bounds(0, np.inf),
            options={"time_limit": seconds},
        )
        if result.status != _SOLVED or result.x is None:
            return None
        chosen = np.rint(result.x).astype(np.int64)
        through, onward = chosen[self._y], chosen[self._z]
        pair, index = np.nonzero(through)
        repeats = through[pair, index]
        pair, index = np.repeat(pair, repeats), np.repeat(index, repeats)
        return index, self._spines(pair, index, onward)

    def cut(self) -> tuple[Floats, ...] | None:
        """Return weights of cables that prove the flows too many, where there are such."""
        from scipy.optimize import linprog  # noqa: PLC0415 (slow to import)

        matrix: Any = self._matrix  # sparse, which the published types do not know
        result = linprog(self._gain, A_ub=matrix, b_ub=self._limit, method="highs")
        if result.fun is None or -result.fun > self._n_flows - _GAP:
            return None
        weight = np.maximum(-result.ineqlin.marginals, 0.0)
        return tuple(
            weight[self._base[i] : self._base[i + 1]].reshape(part.shape)
            for i, part in enumerate(self._parts(), start=1)
        )

    def _parts(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the free cables as one tuple."""
        free = self._free
        return free.leaf_up, free.leaf_down, free.l2_up, free.l2_down

    @staticmethod
    def _keys(switch: Ints, cables: Ints) -> Ints:
        """Return, for each variable of a row of pairs, the number of the cable it uses."""
        numbers: Ints = np.arange(cables.size).reshape(cables.shape)[switch]
        return numbers

    def _spines(self, pair: Ints, index: Ints, onward: Ints) -> Ints:
        """Hand the spines of every pair of pods and index to its flows, in any order."""
        waiting = {
            (*pods.tolist(), i): np.repeat(np.arange(counts.size), counts).tolist()
            for pods, by_index in zip(self._pod_pairs, onward, strict=True)
            for i, counts in enumerate(by_index)
        }
        spine = np.zeros(pair.size, dtype=np.int64)
        for flow, (row, i) in enumerate(zip(pair.tolist(), index.tolist(), strict=True)):
            p, q = self._pairs[row, 2:].tolist()
            if p != q:
                spine[flow] = waiting[p, q, i].pop()
        return spine
