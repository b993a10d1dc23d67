"""
Workloads: job logs, generators and communication profiles.

* `READERS`          reader of every log format, by name
* `GENERATORS`       generator of every synthetic workload, by name
* `Workload`         jobs, what was dropped and where they came from
* `Filters`          what readers keep and change: their keyword arguments
* `make_workload`    the workload that a ``[workload]`` table describes
* `refine`           filter a workload that was read or drawn before
* `limit_nodes`      drop the jobs that are larger than a machine
* `read_swf`, `write_swf`  the Standard Workload Format
* `synth`            the synthetic mixes of Smith21
* `assign`           give jobs their communication, as a profile says
* `Profile`, `read_profile`, `profile_from`, `DEFAULT_PROFILE`  communication profiles
* `running`, `cancelled`  jobs that ran when a queue was looked at; that were cancelled meanwhile
* `expand_hostlist`  names in a list such as ``n[001-018]``
"""

from typing import TYPE_CHECKING

from fabricsim.checking.onuse import on_use

if TYPE_CHECKING:
    from scheduler.workload.base import Workload, limit_nodes
    from scheduler.workload.communication import assign
    from scheduler.workload.entries import expand_hostlist
    from scheduler.workload.filters import Filters, refine
    from scheduler.workload.profile import DEFAULT_PROFILE, Profile, profile_from, read_profile
    from scheduler.workload.registry import GENERATORS, READERS, make_workload
    from scheduler.workload.states import cancelled, running
    from scheduler.workload.swf import read_swf, write_swf
    from scheduler.workload.synthetic import synth

__all__ = [
    "DEFAULT_PROFILE",
    "GENERATORS",
    "READERS",
    "Filters",
    "Profile",
    "Workload",
    "assign",
    "cancelled",
    "expand_hostlist",
    "limit_nodes",
    "make_workload",
    "profile_from",
    "read_profile",
    "read_swf",
    "refine",
    "running",
    "synth",
    "write_swf",
]

__getattr__, __dir__ = on_use(__name__)
