"""
Runs that are killed or find no room on the disk, and what must hold of what they leave.

`kills.Killer` starts the command, kills it at a random moment, goes on with `--resume`, and so on;
`disk` lets single writes fail. `same.differences` compares what came of it with the result of a
run that nobody disturbed. `python -m benchmarks.faults` does it many times.
"""
