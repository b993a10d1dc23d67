"""Workloads: job logs, generators and communication profiles."""

from scheduler.workload.base import Workload, limit_nodes
from scheduler.workload.filters import Filters, Reader
from scheduler.workload.swf import read_swf, write_swf
from scheduler.workload.synthetic import synth

READERS: dict[str, Reader] = {"swf": read_swf}

__all__ = ["READERS", "Filters", "Workload", "limit_nodes", "read_swf", "synth", "write_swf"]
