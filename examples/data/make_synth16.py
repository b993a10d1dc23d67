"""
Write synth16.swf.gz: 3000 jobs drawn as the Synth-16 trace of Smith21 is.

Run it from this folder; the jobs depend on the seed alone.
"""

from pathlib import Path

from scheduler.workload import synth, write_swf

MEAN_NODES, N_JOBS, SEED = 16, 3000, 1

workload = synth(MEAN_NODES, n_jobs=N_JOBS, seed=SEED)
write_swf(
    Path(__file__).with_name("synth16.swf.gz"),
    workload.jobs,
    [
        "Computer: none; synthetic jobs for a fat-tree of 1024 nodes (radix 16)",
        f"Note: {workload.source}: sizes max(1, ceil(Exp({MEAN_NODES}))) nodes,",
        "      run times uniform in 20..3000 whole seconds, all jobs submitted at 0",
        "Note: after Smith and Lowenthal, Jigsaw, HPDC 2021, section 5.1",
        f"MaxJobs: {N_JOBS}",
        "MaxNodes: 1024",
        "MaxProcs: 1024",
    ],
)
