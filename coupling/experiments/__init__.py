"""Experiments: read, assemble, run, compare, resume and reproduce them."""
