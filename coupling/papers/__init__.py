"""Papers as commands: their experiments, our numbers beside theirs, and why they differ."""
