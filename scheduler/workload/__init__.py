"""
Workloads: job logs, generators and communication profiles.

* `READERS`          reader of every log format, by name
* `Workload`         jobs, what was dropped and where they came from
* `Filters`          what readers keep and change: their keyword arguments
* `limit_nodes`      drop the jobs that are larger than a machine
* `read_swf`, `write_swf`  the Standard Workload Format
* `synth`            the synthetic mixes of seed 001
* `assign`           give jobs their communication, as a profile says
* `Profile`, `read_profile`, `profile_from`, `DEFAULT_PROFILE`  communication profiles
"""

from scheduler.workload.base import Workload, limit_nodes
from scheduler.workload.communication import assign
from scheduler.workload.filters import Filters, Reader
from scheduler.workload.profile import DEFAULT_PROFILE, Profile, profile_from, read_profile
from scheduler.workload.swf import read_swf, write_swf
from scheduler.workload.synthetic import synth

READERS: dict[str, Reader] = {"swf": read_swf}

__all__ = [
    "DEFAULT_PROFILE",
    "READERS",
    "Filters",
    "Profile",
    "Workload",
    "assign",
    "limit_nodes",
    "profile_from",
    "read_profile",
    "read_swf",
    "synth",
    "write_swf",
]
