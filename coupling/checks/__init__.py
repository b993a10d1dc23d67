"""Checks: the rules of every part that is chosen by name, tried on small machines."""
