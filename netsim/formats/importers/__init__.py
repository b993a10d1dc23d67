"""Importers: fabrics from the files that people have."""
