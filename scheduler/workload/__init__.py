"""
Workloads: job logs, generators and communication profiles.

* `READERS`          reader of every log format, by name
* `GENERATORS`       generator of every synthetic workload, by name
* `Workload`         jobs, what was dropped and where they came from
* `Filters`          what readers keep and change: their keyword arguments
* `limit_nodes`      drop the jobs that are larger than a machine
* `read_swf`, `write_swf`  the Standard Workload Format
* `synth`            the synthetic mixes of seed 001
* `assign`           give jobs their communication, as a profile says
* `Profile`, `read_profile`, `profile_from`, `DEFAULT_PROFILE`  communication profiles
* `expand_hostlist`  names in a list such as ``n[001-018]``
"""

from collections.abc import Callable

from scheduler.workload.base import Workload, limit_nodes
from scheduler.workload.communication import assign
from scheduler.workload.documents import read_batsim_json, read_flux_json
from scheduler.workload.filters import Filters, Reader
from scheduler.workload.hostlist import expand_hostlist
from scheduler.workload.lublin import lublin
from scheduler.workload.placement import read_placement_log
from scheduler.workload.profile import DEFAULT_PROFILE, Profile, profile_from, read_profile
from scheduler.workload.slurm import read_sacct, read_squeue_json
from scheduler.workload.swf import read_swf, write_swf
from scheduler.workload.synthetic import hector_like, laas, synth
from scheduler.workload.table import read_csv, read_parquet

READERS: dict[str, Reader] = {
    "swf": read_swf,
    "sacct": read_sacct,
    "squeue-json": read_squeue_json,
    "csv": read_csv,
    "parquet": read_parquet,
    "batsim-json": read_batsim_json,
    "flux-json": read_flux_json,
    "placement-log": read_placement_log,
}
GENERATORS: dict[str, Callable[..., Workload]] = {
    "synth": synth,
    "laas": laas,
    "lublin": lublin,
    "hector-like": hector_like,
}

__all__ = [
    "DEFAULT_PROFILE",
    "GENERATORS",
    "READERS",
    "Filters",
    "Profile",
    "Workload",
    "assign",
    "expand_hostlist",
    "limit_nodes",
    "profile_from",
    "read_profile",
    "read_swf",
    "synth",
    "write_swf",
]
