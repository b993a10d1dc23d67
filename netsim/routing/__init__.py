"""Routings: one path for each flow."""
