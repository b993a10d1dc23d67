"""Run the same jobs under four allocators while interference slows them as they run."""

from fabricsim import Experiment, run

for allocator in ("first-free", "random", "ta", "jigsaw"):
    experiment = Experiment(
        topology={"kind": "fat-tree", "radix": 8},  # 128 nodes
        workload={"generator": "synth", "mean_nodes": 6, "n_jobs": 400},
        allocator=allocator,
        routing="jigsaw",
    )
    summary = run(experiment).summary
    print(
        f"{allocator:10}  utilisation {summary['utilization_steady']:.1%}  "
        f"interference {summary['mean_interference']:.3f}  "
        f"makespan {summary['makespan_s'] / 3600:.1f} h  "
        f"(infinite network: {summary['infinite_network']['makespan_s'] / 3600:.1f} h)"
    )
