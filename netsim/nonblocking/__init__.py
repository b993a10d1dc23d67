"""Rearrangeable non-blocking partitions: Jigsaw's conditions, routers, proofs."""
