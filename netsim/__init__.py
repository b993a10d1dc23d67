"""The network alone: topologies, routings, link loads, contention, proofs."""
