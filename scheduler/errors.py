"""
Errors of the scheduler package.

* SchedulerError
  + WorkloadError      a job log or profile that cannot be read
  + AllocationError    a job that can never run on this machine, or a misuse of the cluster
  + PolicyError        a queue policy that is unknown or cannot go on
"""

from fabricsim.checking.errors import FabricsimError


class SchedulerError(FabricsimError):
    """Base of all errors that the scheduler package raises on purpose."""


class WorkloadError(SchedulerError):
    """A job log or communication profile cannot be read."""


class AllocationError(SchedulerError):
    """A job can never run on this machine, or the cluster is asked for the impossible."""


class PolicyError(SchedulerError):
    """A queue policy is unknown or cannot go on."""
