"""Fabrics, routings and contention models by name, and how true the models are."""
