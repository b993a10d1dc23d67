"""Snapshots: jobs placed on a fabric at one moment; slowdowns, isolation, routing tables, flows."""
