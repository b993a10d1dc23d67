"""Read inputs: tables field by field, files, fabrics; errors say where."""
