"""Replay: a record as it was, and from a time on as it might have been."""
