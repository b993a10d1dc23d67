"""Allocators of boxes on a torus."""
