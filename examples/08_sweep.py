"""Three allocators under five seeds: how they differ, with 95 % intervals, as a DataFrame."""

import fabricsim as fs

work = {"generator": "synth", "mean_nodes": 6, "n_jobs": 150}
base = fs.Experiment({"kind": "fat-tree", "radix": 8}, work, self_check=False)
varied = {"scheduler.allocator": ["first-free", "ta", "jigsaw"], "run.seed": range(5)}
table = fs.sweep(base, varied).compare().to_frame().query("by == 'all'")
print(table[["policy", "metric", "difference", "low", "high"]].round(3).to_string(index=False))
