"""Fabrics from files and to files."""
