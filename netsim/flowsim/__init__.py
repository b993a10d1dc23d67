"""Flow-level simulation: every flow of iterating jobs, rates max-min fair at every instant."""
