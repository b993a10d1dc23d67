"""Models of papers, and the infinite network: what our own models are compared with."""
