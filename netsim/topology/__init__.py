"""Topologies: fat-trees, tori, dragonflies and imported fabrics."""
