"""Inputs: experiments, snapshots, fabrics, records of clusters and plug-ins; errors say where."""
