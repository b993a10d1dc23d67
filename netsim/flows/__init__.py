"""Flows that share links: loads, max-min fair rates, isolation."""
