"""Host lists of workload files: ``n[001-018,20],login1``."""

from netsim.common import hostlist
from netsim.common.errors import TopologyError
from scheduler.errors import WorkloadError


def expand_hostlist(text: str) -> list[str]:
    """
    Return the names in a host list, as `netsim.common.hostlist.expand_hostlist` does.

    Parameters
    ----------
    text : str
        Names separated by commas; brackets hold numbers and ranges.

    Returns
    -------
    list of str
        Names in the order in which they are written, repeats kept.

    Raises
    ------
    WorkloadError
        If it is no host list, or too long.

    Examples
    --------
    >>> expand_hostlist("n[08-10,3],login1")
    ['n08', 'n09', 'n10', 'n3', 'login1']
    """
    try:
        return hostlist.expand_hostlist(text)
    except TopologyError as error:
        raise WorkloadError(str(error)) from None
