"""Run an allocator of one's own beside a built-in one, with two workers."""

from tempfile import TemporaryDirectory

import fabricsim as fs
from scheduler import NodeChooser


class Last(NodeChooser):
    """The highest-numbered free nodes."""

    def choose(self, job, free, cluster):
        return free[-job.n_nodes :]


if __name__ == "__main__":
    work = {"generator": "synth", "mean_nodes": 6, "n_jobs": 200}
    tree = {"kind": "fat-tree", "radix": 8}
    experiment = fs.Experiment(tree, work, compare=[Last, "first-free"])
    with TemporaryDirectory() as out:
        for result in fs.run_campaign(experiment, f"{out}/result", workers=2).results:
            print(f"{result.name:10} {result.summary['mean_interference']:.3f}")
