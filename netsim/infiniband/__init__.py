"""InfiniBand: discovered fabrics, the order of OpenSM, forwarding tables."""
