"""Models of the papers, for comparison only."""
