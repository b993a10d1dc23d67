"""Runs of experiments: assemble, simulate, tabulate, write, resume and reproduce."""
