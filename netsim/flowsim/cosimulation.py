"""Co-simulation: jobs come and go while their flows share links, from instant to instant."""

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from netsim.common.arrays import Floats, Ints
from netsim.common.errors import ContentionError
from netsim.common.jit import load_kernels
from netsim.flows.contention import Traffic, hidden_sum, step_hides_s, step_rounds
from netsim.flows.limiters import limited_links, limited_routes
from netsim.flows.maxmin import as_channels, is_per_sender
from netsim.flowsim.state import (
    CHANGE,
    CONSTRAINT,
    COUNTS,
    ELEMENT,
    FLOW,
    JOB,
    MEMBER,
    STEP,
    Fabric,
    Sent,
    Solo,
    State,
)
from netsim.topology.base import Topology
from netsim.topology.routes import Routes

_ENDLESS = 2**62
_SLOTS = 64
_TABLES = ("steps", "flows", "elements", "changes", "crossed")  # whose rows jobs take


@dataclass(frozen=True, slots=True, eq=False)
class SoloRun:
    """What a job does alone, and the rows it is simulated by."""

    traffic: Traffic  # what it sends, flows inside nodes left out; at least one flow
    alone_s: float  # seconds of an iteration without other jobs
    rows: Solo  # rows of the state's tables, numbered from 0


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links that no topology describes."""

    capacity: Floats  # (E,): bytes per second of each directed link's channel
    channel: Ints | None  # (E,): channel of each link; None: a channel for every link
    n_senders: int  # senders have the numbers from 0 to this
    # buffer_bytes, packet_bytes: of a port, and of a packet; 0: not stated
    buffer_bytes: float = 0.0
    packet_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class _RunningJob:
    """A job on the network: its slot, where its rows begin, and how it is scaled."""

    slot: int
    began_s: float
    alone_s: float
    need: int
    first: Mapping[str, int]  # row, by table
    rows: Solo


class CoSimulation:
    """
    Flow-level simulation of jobs that start and leave while it goes on.

    `fairness` {"per-sender", "per-flow"}: weight of a flow among others: 1 / (flows open at its
    sender now), or 1.

    Rates are max-min fair at every start and end of a flow. What a job does alone is found once,
    when it starts. With latency 0 and per-flow fairness this is SimGrid's model CM02 without cross
    traffic.
    """

    def __init__(self, topology: Topology | Links, *, fairness: str) -> None:
        self._topology = topology if isinstance(topology, Topology) else None
        self._links = _links_of(topology) if isinstance(topology, Topology) else topology
        self._per_sender = is_per_sender(fairness)
        self.now_s = 0.0  # how far it has come
        # jobs that have made their iterations at `now_s`; they are to be ended
        self.over: tuple[int, ...] = ()
        self._kernels: Any = None
        self._jobs: dict[int, _RunningJob] = {}
        self._job_of: dict[int, int] = {}
        self._ranges = {name: Ranges() for name in _TABLES}
        self._free = list(range(_SLOTS - 1, -1, -1))
        self._reported: dict[int, int] = {}  # iterations made when `news` last named a job
        self._state: State
        self._fabric: Fabric

    def __repr__(self) -> str:
        return f"<CoSimulation: {len(self._jobs)} jobs at {self.now_s:g} s>"

    def __contains__(self, job: int) -> bool:
        """Return whether a job is on the network."""
        return job in self._jobs

    def solo_run(self, traffic: Traffic) -> SoloRun | None:
        """
        Simulate an iteration of a job without other jobs.

        `traffic`: what it sends in each iteration. Result: None where no flow crosses a link.
        """
        own = outside_nodes(traffic)
        if not own.step.size:
            return None
        self._load()
        rounds, routes = step_rounds(own)[own.step], own.routes
        if self._topology is not None:
            routes = limited_routes(routes, self._topology)
        sent = Sent(
            *(_frozen_view(values, np.int64) for values in (own.step, own.sender)),
            *(_frozen_view(values, np.int64) for values in (routes.indptr, routes.links)),
            *(_frozen_view(values, np.float64) for values in (own.nbytes / rounds, own.latency_s)),
        )
        rows: Solo = self._kernels.solo_run(sent, self._fabric)
        rows.steps["rounds"][:-1] = rounds[rows.steps["first_flow"][:-1]]
        rows.steps["hide_s"][:-1] = step_hides_s(own)[own.step[rows.steps["first_flow"][:-1]]]
        alone_s, together_s = own.compute_s, 0.0
        solo_s = (rows.steps["rounds"] * rows.steps["solo_s"])[:-1].tolist()
        for seconds, hide_s in zip(solo_s, rows.steps["hide_s"][:-1].tolist(), strict=True):
            together_s += seconds
            if hide_s >= 0.0:
                alone_s += max(together_s, hide_s)
                together_s = 0.0
        return SoloRun(own, alone_s, rows)

    def start(
        self,
        job: int,
        solo: SoloRun,
        iterations: int | None,
        scale: float = 1.0,
        *,
        persists: bool = False,
    ) -> None:
        """
        Let a job start to compute now.

        `iterations`: how many it makes, at least 1; None: it goes on until it is ended. `scale`:
        each iteration computes, sends and waits for so many. `persists`: it goes on after its
        iterations, though it is named in `over` when it has made them.
        """
        if job in self._jobs:
            raise ContentionError(f"job {job} has been started already.")
        if not self._free:
            old = self._state.jobs.size
            self._lengthen_tables({"jobs": 2 * old})
            self._free = list(range(2 * old - 1, old - 1, -1))
        slot, rows = self._free.pop(), solo.rows
        first = {name: self._ranges[name].take(getattr(rows, name).size) for name in _TABLES}
        self._lengthen_tables({name: taken.size for name, taken in self._ranges.items()})
        need = _ENDLESS if iterations is None else iterations
        self._jobs[job] = _RunningJob(slot, self.now_s, solo.alone_s * scale, need, first, rows)
        self._job_of[slot], self._reported[job] = job, 0
        self._need[rows.used] += rows.most
        if np.any(self._need[rows.used] > self._room[rows.used]):
            self._room[rows.used] = np.maximum(self._room[rows.used], 2 * self._need[rows.used])
            members = np.zeros(int(self._room.sum()), dtype=MEMBER)
            self._kernels.move_members(self._room, self._state, members)
            self._state = self._state._replace(members=members)
        self._fill_rows(slot, rows, first, scale)
        own = self._state.jobs[slot : slot + 1]
        own[:] = np.zeros(1, dtype=JOB)
        own["first_step"], own["at"] = first["steps"], first["steps"] - 1
        own["end_step"] = first["steps"] + rows.steps.size - 1
        own["compute_s"] = compute_s = solo.traffic.compute_s * scale
        own["need"], own["persists"] = need, persists
        own["phase_s"] = own["last_end_s"] = self.now_s
        self._kernels.begin(slot, self.now_s + compute_s, self._state)

    def end(self, job: int) -> None:
        """Take a job off the network, whatever it has made."""
        own = self._known(job)
        self._kernels.withdraw(own.slot, self._state)
        for name, begin in own.first.items():
            self._ranges[name].give(begin, getattr(own.rows, name).size)
        self._need[own.rows.used] -= own.rows.most
        self._free.append(own.slot)
        del self._jobs[job], self._job_of[own.slot], self._reported[job]

    def advance(self, until_s: float) -> float:
        """
        Go on to the first instant at which jobs have made their iterations, if it comes.

        Result: the instant, `until_s` at the latest; jobs that are done stand in `over`.
        """
        if not self._jobs:
            self.now_s, self.over = until_s, ()
            return until_s
        self.now_s, n_over = self._kernels.advance(self.now_s, until_s, self._state)
        slots = self._state.over[: int(n_over)].tolist()
        self.over = tuple(sorted(self._job_of[slot] for slot in slots))
        return self.now_s

    def made(self, job: int) -> float:
        """
        Return how many iterations a job has made.

        Result: the present one counts by what is done of it, as if its round had gone on as alone.
        """
        own = self._known(job)
        state, steps = self._state.jobs[own.slot], self._state.steps
        first, at = int(state["first_step"]), int(state["at"])
        if int(state["count"]) >= own.need:
            return float(own.need)
        spent_s, compute_s = self.now_s - float(state["phase_s"]), float(state["compute_s"])
        if at < first:
            done_s = min(spent_s, compute_s)
        else:
            ended = steps[first:at]
            before_s = hidden_sum(ended["rounds"] * ended["solo_s"], ended["hide_s"])
            round_s = float(steps["solo_s"][at])
            done_s = float(compute_s + before_s + int(state["round"]) * round_s)
            done_s += min(spent_s, round_s)
        return int(state["count"]) + min(1.0, done_s / own.alone_s)

    def interference_delay_s(self, job: int) -> float:
        """
        Return by how much other jobs have made a job take longer until now.

        Result: in seconds; exactly 0 for a job that shared no channel in any step.
        """
        own = self._known(job)
        if not self._state.jobs[own.slot]["disturbed"]:
            return 0.0
        return self.now_s - own.began_s - self.made(job) * own.alone_s

    def news(self) -> dict[int, float]:
        """
        Return how long the last iteration of jobs took, as a multiple of its time alone.

        Result: of jobs that have made one since the last call; 1 for one that shared no channel.
        """
        found = {}
        for job, own in self._jobs.items():
            state = self._state.jobs[own.slot]
            if int(state["count"]) != self._reported[job]:
                self._reported[job] = int(state["count"])
                found[job] = float(state["took_s"]) / own.alone_s if state["disturbed"] else 1.0
        return found

    def iterations(self, job: int) -> tuple[int, float, float]:
        """Return how many iterations a job has completed, and the ends of the first and last."""
        state = self._state.jobs[self._known(job).slot]
        return int(state["count"]), float(state["first_end_s"]), float(state["last_end_s"])

    def _known(self, job: int) -> _RunningJob:
        """Return a job on the network."""
        if job not in self._jobs:
            raise ContentionError(f"job {job} has not been started.")
        return self._jobs[job]

    def _load(self) -> None:
        """Load the kernels and make the network, once."""
        if self._kernels is not None:
            return
        kernels = self._kernels = load_kernels(
            "netsim.flowsim.flowsim_kernels", "flow-level simulation", seconds=20
        )
        links, size = self._links, self._links.capacity.size
        nothing = Routes.from_lists([], size)
        _, of_channel = as_channels(nothing, links.capacity, links.channel)
        n_channels, n_constraints = size, size + links.n_senders
        self._fabric = Fabric(
            _frozen_view(np.arange(size) if links.channel is None else links.channel, np.int64),
            _frozen_view(of_channel, np.float64),
            np.full(n_constraints, -1),
            float(links.buffer_bytes),
            float(links.packet_bytes),
            self._per_sender,
        )
        self._need, self._room = np.zeros((2, n_constraints), dtype=np.int64)
        constraints = np.zeros(n_constraints, dtype=CONSTRAINT)
        constraints["saturated_at"], constraints["only_job"] = np.inf, -1
        constraints["capacity"][:n_channels] = of_channel
        counts = np.zeros(1, dtype=COUNTS)
        counts["n_channels"], counts["per_sender"] = n_channels, self._per_sender
        none = np.zeros(0, dtype=np.int64)
        self._state = State(
            np.zeros(_SLOTS, dtype=JOB),
            np.zeros(0, dtype=STEP),
            np.zeros(0, dtype=FLOW),
            np.zeros(0, dtype=ELEMENT),
            np.zeros(0, dtype=MEMBER),
            constraints,
            np.zeros(0, dtype=CHANGE),
            none,
            counts,
            _empty_heap(kernels, 2 * n_channels),
            _empty_heap(kernels, _SLOTS),
            np.zeros(n_channels, dtype=np.int64),
            np.zeros(links.n_senders, dtype=np.int64),
            none,
            none,
            np.zeros(_SLOTS, dtype=np.int64),
            np.zeros(_SLOTS, dtype=np.int64),
        )

    def _lengthen_tables(self, size: Mapping[str, int]) -> None:
        """Give tables at least so many rows."""
        state, old = self._state, self._state.flows.size
        longer: dict[str, Any] = {
            name: _longer_table(getattr(state, name), rows)
            for name, rows in size.items()
            if rows > getattr(state, name).size
        }
        if not longer:
            return
        self._state = state = state._replace(**longer)
        n_flows, n_slots = state.flows.size, state.jobs.size
        if "jobs" in longer:
            ready, over = (np.zeros(n_slots, dtype=np.int64) for _ in range(2))
            self._state = state = state._replace(ready=ready, over=over)
        if "flows" in longer:
            visited, ended = (np.zeros(n_flows, dtype=np.int64) for _ in range(2))
            self._state = state = state._replace(visited=visited, ended=ended)
        if {"jobs", "flows"} & longer.keys():
            clock, new = state.clock, _empty_heap(self._kernels, n_flows + n_slots)
            moved = np.arange(clock.key.size)
            moved[old:] += n_flows - old
            new.place[moved], new.key[moved] = clock.place, clock.key
            count = int(clock.size[0])
            new.items[:count], new.size[0] = moved[clock.items[:count]], count
            self._state = state._replace(clock=new)

    def _fill_rows(self, slot: int, rows: Solo, first: Mapping[str, int], scale: float) -> None:
        """Write the rows of a job: numbered from where they begin, and scaled."""
        written = {}
        for name in _TABLES:
            own, begin = getattr(rows, name), first[name]
            written[name] = getattr(self._state, name)[begin : begin + own.size]
            written[name][:] = own
        steps, flows, changes = written["steps"], written["flows"], written["changes"]
        for name in ("flow", "crossed", "change"):
            steps[f"first_{name}"] += first["crossed" if name == "crossed" else f"{name}s"]
        for name in ("first_element", "end_element", "spare_element", "sender_element"):
            flows[name] += first["elements"]
        flows["job"] = slot
        changes["flow"] += first["flows"]
        for table, name in (
            (steps, "solo_s"),
            (steps, "hide_s"),
            (changes, "at_s"),
            (flows, "nbytes"),
            (flows, "latency_s"),
            (flows, "solo_sent_s"),
        ):
            table[name] *= scale


def _links_of(topology: Topology) -> Links:
    """Return the links of a fabric; a sender is a node or, where it has several, its link."""
    n_senders = max(topology.n_links, topology.n_nodes)
    sizes = topology.buffer_bytes, topology.packet_bytes
    channel, capacity = limited_links(topology)
    return Links(capacity, channel, n_senders, *sizes)


def outside_nodes(traffic: Traffic) -> Traffic:
    """Return the traffic that crosses links."""
    step, nbytes, latency_s = traffic.step, traffic.nbytes, traffic.latency_s
    if bool((step[1:] < step[:-1]).any()):
        raise ContentionError("flows must be given in the order of their steps.")
    if step.size and not 0.0 < nbytes.min() <= nbytes.max() < np.inf:
        raise ContentionError("nbytes must be positive and finite for every flow.")
    good = not step.size or 0.0 <= latency_s.min() <= latency_s.max() < np.inf
    if not (good and 0.0 <= traffic.compute_s < np.inf):
        raise ContentionError("compute_s and latency_s must be at least 0 and finite.")
    keep = traffic.routes.hops > 0
    if keep.all() and nbytes.dtype == latency_s.dtype == np.float64:  # as mostly
        return traffic
    indptr = np.concatenate([[0], np.cumsum(traffic.routes.hops[keep])])
    return Traffic(
        traffic.step[keep],
        traffic.sender[keep],
        np.asarray(traffic.nbytes[keep], dtype=np.float64),
        Routes(indptr, traffic.routes.links, traffic.routes.n_links, traffic.routes.rule),
        traffic.compute_s,
        np.asarray(traffic.latency_s[keep], dtype=np.float64),
        rounds=traffic.rounds,
        hide_s=traffic.hide_s,
    )


class Ranges:
    """Rows of a table that are handed out in contiguous ranges, lowest first, and never move."""

    def __init__(self) -> None:
        self.size = 0  # rows of the table; grows when none is left
        self._free: list[tuple[int, int]] = []  # begin and end, ascending, never adjacent

    def take(self, count: int) -> int:
        """Return the first of so many rows."""
        for at, (begin, end) in enumerate(self._free):
            if end - begin >= count:
                self._free[at : at + 1] = [(begin + count, end)] if end - begin > count else []
                return begin
        tail = self._free.pop() if self._free and self._free[-1][1] == self.size else None
        begin = self.size if tail is None else tail[0]
        self.size = max(begin + count, 2 * self.size)
        if begin + count < self.size:
            self._free.append((begin + count, self.size))
        return begin

    def give(self, begin: int, count: int) -> None:
        """Take rows back."""
        end, at = begin + count, bisect_left(self._free, (begin, 0))
        if at < len(self._free) and self._free[at][0] == end:
            end = self._free.pop(at)[1]
        if at and self._free[at - 1][1] == begin:
            begin = self._free.pop(at - 1)[0]
        insort(self._free, (begin, end))


def _empty_heap(kernels: Any, n_items: int) -> Any:  # noqa: ANN401 (its class comes with the compiler)
    """Return a heap without items."""
    items, size = np.empty(n_items, dtype=np.int64), np.zeros(1, dtype=np.int64)
    return kernels.Heap(items, np.full(n_items, -1), np.empty(n_items), size)


def _frozen_view(values: NDArray[Any], dtype: type) -> NDArray[Any]:
    """Return a contiguous view that cannot be written, as kernels take what they only read."""
    view: NDArray[Any] = np.ascontiguousarray(values, dtype=dtype).view()
    view.flags.writeable = False
    return view


def _longer_table(table: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a table of so many rows, new ones zero."""
    longer: NDArray[Any] = np.zeros(size, dtype=table.dtype)
    longer[: table.size] = table
    return longer
