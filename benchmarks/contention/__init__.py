"""Contention models against packets, each other and other programs, and what an event costs."""
