"""Allocators: where a job runs."""
