"""Batsim: an external scheduler that speaks Batsim's protocol chooses jobs and nodes."""

import json
import shlex
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, ClassVar

from fabricsim.checking import brief, shortened
from scheduler.allocation import Allocation
from scheduler.allocators.baselines import FirstFree
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine

WORKLOAD = "w0"
_IGNORED = {"NOTIFY", "SET_JOB_METADATA"}  # they change nothing that is simulated
_POLL_MS = 200
_GRACE_S = 10.0  # for a scheduler to leave when the simulation has ended
_BEGIN_S = 1e-9  # by which a time may be off through its text
_MOST = 10_000_000  # resources of a range

Event = Mapping[str, Any]


class Batsim:
    """
    An external scheduler that speaks Batsim's protocol.

    The scheduler is a process of its own, started for each simulation. At each instant it is sent
    what happened, and answers which jobs start on which resources; resource i is the i-th node
    that takes jobs. The allocator is not asked. Job ids are ``w0!17``; the walltime of a job, and
    the delay of its profile, are what a scheduler may know by the experiment's ``estimates``.
    Protocol: Batsim 3, in which Batsim has a ZMQ REQ socket and the scheduler the REP one.

    `command`: What starts the scheduler, such as ``"pybatsim easyBackfill -t 0"``; ``-s`` and the
    address of its socket are put behind it. `timeout_s`: How long an answer may take.

    Raises `PolicyError` if pyzmq is not installed, the scheduler does not start or goes away, or an
    answer is late, makes no sense or asks for what is not simulated: rejected, killed and
    registered jobs, states of resources, queries.
    """

    name: ClassVar[str] = "batsim"

    def __init__(self, command: str, timeout_s: float = 600.0) -> None:
        if not isinstance(command, str) or not command.strip():
            raise PolicyError(f"command: expected what starts a scheduler, got {brief(command)}.")
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)) or timeout_s <= 0:
            raise PolicyError(f"timeout_s: expected seconds above 0, got {brief(timeout_s)}.")
        self._command, self._timeout_s = command, float(timeout_s)
        self._link: _Connection | None = None
        self._waiting: dict[int, Job] = {}
        self._new: list[Job] = []
        self._running: set[int] = set()
        self._later: list[tuple[float, Event]] = []  # decisions for a time to come
        self._call_s: list[float] = []  # when the scheduler asked to be called
        self._now_s = 0.0

    def __repr__(self) -> str:
        return f"<Batsim: {shortened(self._command)}, {len(self)} waiting>"

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, job: Job) -> None:
        """Take a job into the queue."""
        self._waiting[job.id] = job
        self._new.append(job)

    def select(self, machine: Machine) -> None:
        """Say what happened, and start the jobs that the scheduler starts."""
        now_s = self._now_s = machine.now_s
        if self._link is None:
            self._require_choice(machine)
            self._link = _Connection(self._command, self._timeout_s)
            self._link.ask(now_s, [_event(now_s, "SIMULATION_BEGINS", _description(machine))])
        if machine.cluster.closed or machine.windows:
            raise self._refusal("nodes that are down, drained or reserved have no word in Batsim")
        events = [*self._ended(machine), *self._submitted(machine), *self._called(now_s)]
        if events:
            for event in self._link.ask(now_s, events):
                at_s = event.get("timestamp", now_s)
                self._later.append((max(now_s, float(at_s)), event))
        due = [event for at_s, event in self._later if at_s <= now_s + _BEGIN_S]
        self._later = [own for own in self._later if own[0] > now_s + _BEGIN_S]
        for event in due:
            self._carry_out(event, machine)
        for at_s in [*self._call_s, *(at_s for at_s, _ in self._later)]:
            machine.wake(at_s)

    def _require_choice(self, machine: Machine) -> None:
        """Refuse what would choose nodes beside the scheduler."""
        whole = machine.cluster.inside is None
        if whole and isinstance(machine.allocator, FirstFree) and machine.switch_limit is None:
            return
        what = f"allocator {machine.allocator!r}" if whole else "partitions"
        what = "switches" if machine.switch_limit else what
        expected = "the default allocator, first-free, no partitions and no switches"
        raise self._refusal(f"it chooses nodes itself: expected {expected}, got {what}")

    def close(self) -> None:
        """Say that the simulation has ended, and wait for the scheduler to leave."""
        if self._link is not None:
            self._link.leave(self._now_s)
            self._link = None

    def _ended(self, machine: Machine) -> list[Event]:
        """Return an event for each job that has ended."""
        now_s, found = machine.now_s, []
        for number in sorted(self._running - machine.cluster.running.keys()):
            self._running.remove(number)
            reached = number in machine.cut
            state = "COMPLETED_WALLTIME_REACHED" if reached else "COMPLETED_SUCCESSFULLY"
            data = {"job_id": _job_name(number), "job_state": state, "return_code": int(reached)}
            found.append(_event(now_s, "JOB_COMPLETED", {**data, "alloc": ""}))
        return found

    def _submitted(self, machine: Machine) -> list[Event]:
        """Return an event for each new job."""
        events = []
        for job in self._new:
            limit_s = machine.estimate_s(job)
            profile = f"delay_{limit_s:g}"
            described = {
                "id": _job_name(job.id),
                "res": job.n_nodes,
                "walltime": limit_s,
                "subtime": job.submit_s,
                "profile": profile,
            }
            delay = {"type": "delay", "delay": limit_s}
            data = {"job_id": _job_name(job.id), "job": described, "profile": delay}
            events.append(_event(machine.now_s, "JOB_SUBMITTED", data))
        self._new.clear()
        return events

    def _called(self, now_s: float) -> list[Event]:
        """Return an event for each time at which the scheduler asked to be called."""
        due = [at_s for at_s in self._call_s if at_s <= now_s + _BEGIN_S]
        self._call_s = [at_s for at_s in self._call_s if at_s > now_s + _BEGIN_S]
        return [_event(now_s, "REQUESTED_CALL", {}) for _ in due]

    def _carry_out(self, event: Event, machine: Machine) -> None:
        """Do what the scheduler decided."""
        kind, data = event.get("type"), event.get("data", {})
        if kind == "CALL_ME_LATER":
            at_s = data.get("timestamp") if isinstance(data, Mapping) else None
            if not isinstance(at_s, (int, float)) or not at_s > machine.now_s:
                raise self._refusal(f"CALL_ME_LATER: expected a time to come, got {brief(at_s)}")
            self._call_s.append(float(at_s))
        elif kind == "EXECUTE_JOB":
            self._execute(data, machine)
        elif kind not in _IGNORED:
            raise self._refusal(f"{brief(kind)} is not simulated")

    def _execute(self, data: Any, machine: Machine) -> None:  # noqa: ANN401 (of an answer)
        """Start a job on the resources that the scheduler names."""
        name = data.get("job_id") if isinstance(data, Mapping) else None
        number = {_job_name(one): one for one in self._waiting}.get(str(name))
        if number is None:
            raise self._refusal(f"EXECUTE_JOB: expected a waiting job, got {brief(name)}")
        if data.get("mapping") or data.get("additional_io_job"):
            raise self._refusal(f"EXECUTE_JOB {name}: mapping and I/O are not simulated")
        job, usable = self._waiting[number], machine.cluster.geometry.fabric.usable_nodes
        chosen = _resources(data.get("alloc"))
        if chosen is None or len(chosen) != job.n_nodes or max(chosen) >= usable.size:
            expected = f"{job.n_nodes} of the resources 0 to {usable.size - 1}"
            got = brief(data.get("alloc"))
            raise self._refusal(f"EXECUTE_JOB {name}: alloc: expected {expected}, got {got}")
        geometry = machine.cluster.geometry
        masks = geometry.masks(usable[sorted(chosen)].tolist())
        leaves = tuple((leaf, mask, 0) for leaf, mask in sorted(masks.items()))
        machine.start(Allocation(job, geometry, leaves))
        del self._waiting[number]
        self._running.add(number)

    def _refusal(self, what: str) -> PolicyError:
        """Return the error for an answer."""
        return PolicyError(f"scheduler {shortened(self._command)!r}: {what}.")


class _Connection:
    """A scheduler that runs, and the socket to it."""

    def __init__(self, command: str, timeout_s: float) -> None:
        try:
            import zmq  # noqa: PLC0415 (of an extra)
        except ImportError as error:
            wanted = "pip install 'fabricsim[batsim]'"
            raise PolicyError(f"queue 'batsim' needs pyzmq: {wanted}.") from error
        self._command, self._timeout_s = command, timeout_s
        self._asked = False  # an answer is due
        address = f"tcp://127.0.0.1:{_free_port()}"
        # what it prints: its last line explains why it ended
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the scheduler runs)
        try:
            self._process = subprocess.Popen(  # noqa: S603 (the user's own command)
                [*shlex.split(command), "-s", address],
                stdin=subprocess.DEVNULL,
                stdout=self._words,
                stderr=subprocess.STDOUT,
            )
        except (OSError, ValueError) as error:
            self._words.close()
            raise PolicyError(f"scheduler {command!r} cannot be started: {error}.") from error
        self._socket: Any = zmq.Context.instance().socket(zmq.REQ)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.connect(address)

    def __del__(self) -> None:
        """Stop a scheduler that nothing asks any more."""
        words = getattr(self, "_words", None)
        if words is not None and not words.closed:
            self._stop()

    def ask(self, now_s: float, events: list[Event]) -> list[Event]:
        """Send what happened; return what the scheduler decides."""
        self._asked = True
        self._socket.send_string(json.dumps({"now": now_s, "events": events}))
        answer = self._answer(now_s)
        self._asked = False
        return self._decisions(answer, now_s)

    def _answer(self, now_s: float) -> bytes:
        """Wait for an answer, as long as the scheduler runs."""
        begin_s = monotonic()
        while not self._socket.poll(_POLL_MS):
            status = self._process.poll()
            if status is not None:
                raise self._fault(f"ended with status {status} at {now_s:g} s{self._last_words()}")
            if monotonic() - begin_s > self._timeout_s:
                raise self._fault(f"has not answered for {self._timeout_s:g} s, at {now_s:g} s")
        found: bytes = self._socket.recv()
        return found

    def _decisions(self, answer: bytes, now_s: float) -> list[Event]:
        """Return the events of an answer, checked."""
        try:
            events: list[Event] = json.loads(answer)["events"]
            whole = isinstance(events, list) and all(isinstance(one, dict) for one in events)
            if whole:
                for one in events:
                    float(one.get("timestamp", now_s))
        except (ValueError, KeyError, TypeError):
            whole = False
        if not whole:
            got = shortened(answer.decode("utf-8", "replace"))
            raise self._fault(f"answered {got!r} at {now_s:g} s: expected an object with events")
        return events

    def leave(self, now_s: float) -> None:
        """Say that the simulation has ended, unless an answer is due, and end the scheduler."""
        if not self._asked and self._process.poll() is None:
            ends = {"now": now_s, "events": [_event(now_s, "SIMULATION_ENDS", {})]}
            self._socket.send_string(json.dumps(ends))
            self._socket.poll(int(1000 * _GRACE_S))
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
        self._stop()

    def _stop(self) -> None:
        """End the scheduler, and close what is open."""
        self._words.close()
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _last_words(self) -> str:
        """Return the last line that the scheduler printed."""
        self._words.seek(0)
        lines = self._words.read().decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f": {shortened(last, 200)}" if last else ""

    def _fault(self, what: str) -> PolicyError:
        """Return the error for a scheduler that fails."""
        return PolicyError(f"scheduler {shortened(self._command)!r} {what}.")


def _free_port() -> int:
    """Return a port of this machine that nothing uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _event(now_s: float, kind: str, data: Mapping[str, Any]) -> Event:
    """Return an event of the protocol."""
    return {"timestamp": now_s, "type": kind, "data": data}


def _job_name(number: int) -> str:
    """Return what a job is called."""
    return f"{WORKLOAD}!{number}"


def _resources(alloc: object) -> set[int] | None:
    """Read resources such as ``0-3 7``; None where they are none."""
    chosen: set[int] = set()
    for part in str(alloc).replace(",", " ").split():
        low, _, high = part.partition("-")
        if not low.isdecimal() or not (high or low).isdecimal():
            return None
        if int(high or low) - int(low) >= _MOST or int(high or low) < int(low):
            return None
        chosen.update(range(int(low), int(high or low) + 1))
    return chosen or None


def _description(machine: Machine) -> Mapping[str, Any]:
    """Describe the machine at the begin."""
    fabric = machine.cluster.geometry.fabric
    resources = [
        {
            "id": number,
            "name": fabric.vertex_name(node),
            "state": "idle",
            "properties": {},
            "zone_properties": {},
        }
        for number, node in enumerate(fabric.usable_nodes.tolist())
    ]
    return {
        "nb_resources": len(resources),
        "nb_compute_resources": len(resources),
        "nb_storage_resources": 0,
        "allow_compute_sharing": False,
        "allow_storage_sharing": False,
        "config": {
            "profiles-forwarded-on-submission": True,
            "dynamic-jobs-enabled": False,
            "dynamic-jobs-acknowledged": False,
            "redis-enabled": False,
            "redis-hostname": "",
            "redis-port": 0,
            "redis-prefix": "",
        },
        "compute_resources": resources,
        "storage_resources": [],
        "workloads": {WORKLOAD: WORKLOAD},
        "profiles": {WORKLOAD: {}},
    }
