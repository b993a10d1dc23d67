"""Allocators that look at the machine as one ordered list of nodes."""
