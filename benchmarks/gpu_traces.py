"""
Run logs of GPU jobs in three placements, and print what the network costs them.

    python -m benchmarks.gpu_traces            # writes docs/research/gpu-traces.md, minutes
    python -m benchmarks.gpu_traces --overlap --print    # gradients beside the backward pass

Philly's table is read from ``shared/data/gpu/philly`` beside the repository. No public log says
how its jobs communicate: all of more than one host train one model by data parallelism.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fabricsim as fs

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "research" / "gpu-traces.md"
PHILLY = ROOT.parent / "shared" / "data" / "gpu" / "philly" / "philly.csv.gz"
BEGIN, END = "<!-- gpu-traces: begin -->\n", "<!-- gpu-traces: end -->"
PLACEMENTS = {"packed": "first-free", "spread": "random", "rail-aligned": "slurm-best-fit"}

OF_2017 = {
    "kind": "gpu-cluster",
    "hosts": 64,
    "gpus": 8,
    "nics": 1,
    "fabric": "clos",
    "hosts_per_unit": 16,
    "oversubscription": 4,
    "bandwidth": "100 Gb/s",
}
RAILS = {
    "kind": "gpu-cluster",
    "hosts": 256,
    "gpus": 8,
    "nics": 8,
    "fabric": "rail",
    "hosts_per_unit": 32,
    "oversubscription": 4,
    "bandwidth": "400 Gb/s",
}
SMALL = {"params": "1.4e8", "layers": 16, "hidden": 1024, "seq": 512, "compute_s": "0.25 s"}
LARGE = {"params": "7e9", "layers": 32, "hidden": 4096, "seq": 4096, "compute_s": "2 s"}
LOGS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "Philly, 2017": ({"path": str(PHILLY), "format": "csv"}, OF_2017, SMALL),
    "after Kalos": ({"generator": "kalos-like", "n_jobs": 20_000, "load": 0.8}, RAILS, LARGE),
}


def rows(*, overlap: bool) -> Iterator[list[str]]:
    """Yield a row per log and placement; `overlap`: gradients travel beside the backward pass."""
    for name, (log, cluster, model) in LOGS.items():
        for placement, allocator in PLACEMENTS.items():
            begin_s = time.process_time()
            experiment = fs.Experiment(
                cluster,
                log,
                allocator=allocator,
                communication={"model": {**model, "overlap": overlap}},
                node={"gpus": 8},
                self_check=False,
            )
            found = fs.run(experiment)
            spent_s = time.process_time() - begin_s
            yield [name, placement, *_numbers(found), f"{spent_s:.0f}"]


def _numbers(found: fs.Result) -> list[str]:
    """Return the cells of one run."""
    jobs, summary = found.jobs, found.summary
    sending = jobs[jobs["pattern"] != ""]
    spent = (jobs["n_nodes"] * jobs["node_part"] * (jobs["end_s"] - jobs["start_s"])).sum()
    weight = sending["n_nodes"] * (sending["end_s"] - sending["start_s"])
    lost = summary["node_seconds_lost_to_interference"]
    return [
        f"{len(sending):,} of {len(jobs):,}",
        f"{100 * weight.sum() / spent:.1f} %",
        f"{(sending['placement_factor'] * weight).sum() / weight.sum():.3f}",
        f"{(sending['interference'] * weight).sum() / weight.sum():.3f}",
        f"{sending['interference'].max():.2f}",
        f"{100 * lost / spent:.2f} %",
    ]


HEADS = (
    *("log", "placement", "jobs that send", "their GPU time", "placement factor"),
    *("interference", "largest", "GPU time lost to it", "CPU s"),
)


def table(*, overlap: bool) -> str:
    """Return the table as Markdown."""
    lines = [HEADS, ["---"] * len(HEADS), *rows(overlap=overlap)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Write the page, or print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("--print", action="store_true", help="print, and write nothing")
    parser.add_argument("--overlap", action="store_true", help="gradients beside the backward pass")
    given = parser.parse_args()
    found = table(overlap=given.overlap)
    if given.print:
        print(found)
        return
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}{found}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
