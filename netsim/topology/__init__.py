"""Topologies: fat-trees, tori, dragonflies, any graph; what is broken and what is in them."""
