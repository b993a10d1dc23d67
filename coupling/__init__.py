"""The coupling: the network slows jobs, and jobs load the network."""
