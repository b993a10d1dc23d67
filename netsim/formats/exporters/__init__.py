"""Exporters: fabrics in the formats of other tools."""
