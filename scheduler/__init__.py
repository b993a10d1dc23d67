"""
Jobs on a machine: workloads, allocators, queue policies, the event loop.

Names are loaded on first use, so that a command imports what it needs alone.

* `Job`, `Communication`, `Workload` -- what is to run
* `make_workload`, `READERS`, `GENERATORS`, `read_swf`, `write_swf`, `synth` -- where they come from
* `Profile`, `read_profile`, `profile_from`, `assign`, `DEFAULT_PROFILE` -- how jobs communicate
* `Cluster`, `Allocation`, `Geometry` -- free nodes and links; a job placed; how nodes lie in groups
* `NodeUnits` -- cores, GPUs and memory of a node that jobs share
* `Allocator`, `ALLOCATORS`, `make_allocator`, `NodeChooser` -- where a job runs; the base for one's
  own
* `QueuePolicy`, `Machine`, `POLICIES`, `make_policy` -- which waiting jobs start, on what they see
* `WaitReasons`, `Verdict`, `REASONS`, `SwitchLimit` -- why others wait; limits of leaf switches
* `RateModel`, `JobRate` -- how running jobs slow each other down, to be fulfilled by others
* `simulate`, `Schedule`, `JobRecord` -- the event loop and what happened
* `MachineEvents`, `MachineEvent`, `FailurePolicy`, `DrawnFailures`, `Window` -- what goes down, is
  drained or kept, and what then becomes of jobs
* `Observer` -- callbacks of a simulation
* `SchedulerError` and its kinds -- what goes wrong
"""

from typing import TYPE_CHECKING

from fabricsim.checking.onuse import on_use

if TYPE_CHECKING:
    from scheduler.allocation import Allocation, NodeUnits
    from scheduler.allocators import ALLOCATORS, Allocator, NodeChooser, make_allocator
    from scheduler.cluster import Cluster
    from scheduler.errors import AllocationError, PolicyError, SchedulerError, WorkloadError
    from scheduler.events import DrawnFailures, FailurePolicy, MachineEvent, MachineEvents
    from scheduler.geometry import Geometry
    from scheduler.job import Communication, Job
    from scheduler.machine import Machine, Window
    from scheduler.observer import Observer
    from scheduler.queues import POLICIES, QueuePolicy, make_policy
    from scheduler.rates import JobRate, RateModel
    from scheduler.reasons import REASONS, Verdict, WaitReasons
    from scheduler.simulator import JobRecord, Schedule, simulate
    from scheduler.switches import SwitchLimit
    from scheduler.workload import (
        DEFAULT_PROFILE,
        GENERATORS,
        READERS,
        Profile,
        Workload,
        assign,
        make_workload,
        profile_from,
        read_profile,
        read_swf,
        synth,
        write_swf,
    )

__all__ = [
    "ALLOCATORS",
    "DEFAULT_PROFILE",
    "GENERATORS",
    "POLICIES",
    "READERS",
    "REASONS",
    "Allocation",
    "AllocationError",
    "Allocator",
    "Cluster",
    "Communication",
    "DrawnFailures",
    "FailurePolicy",
    "Geometry",
    "Job",
    "JobRate",
    "JobRecord",
    "Machine",
    "MachineEvent",
    "MachineEvents",
    "NodeChooser",
    "NodeUnits",
    "Observer",
    "PolicyError",
    "Profile",
    "QueuePolicy",
    "RateModel",
    "Schedule",
    "SchedulerError",
    "SwitchLimit",
    "Verdict",
    "WaitReasons",
    "Window",
    "Workload",
    "WorkloadError",
    "assign",
    "make_allocator",
    "make_policy",
    "make_workload",
    "profile_from",
    "read_profile",
    "read_swf",
    "simulate",
    "synth",
    "write_swf",
]

__getattr__, __dir__ = on_use(__name__)
