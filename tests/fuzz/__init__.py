"""
Valid inputs of every command, damaged at random, and what must hold of every answer.

A case is a pure function of its number: `cases.case(number)` gives its files and arguments,
`execute.execute(case)` runs the command on them in this process, `oracles.judge` says what is
wrong with what came out. `python -m benchmarks.fuzz` runs many of them.
"""
