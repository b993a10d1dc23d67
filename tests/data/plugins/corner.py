"""An allocator of one's own: the highest-numbered free nodes."""

from scheduler import NodeChooser


class Corner(NodeChooser):
    """The highest-numbered free nodes, every `step`-th of them first."""

    name = "corner"

    def __init__(self, step: int = 1) -> None:
        self.step = step

    def choose(self, job, free, cluster):  # noqa: ARG002 (the protocol's)
        line = [node for first in range(self.step) for node in free[::-1][first :: self.step]]
        return line[: job.n_nodes]


ALLOCATORS = {"corner": Corner}
