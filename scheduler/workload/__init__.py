"""Workloads: job logs, generators and communication profiles."""
