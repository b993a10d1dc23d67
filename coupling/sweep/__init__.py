"""Sweep: an experiment over lists of values, in cells that are computed apart and compared."""
