"""The fixed point solved from scratch."""
