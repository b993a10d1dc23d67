"""How fast running jobs progress: models that ask the network or assume, and their ledgers."""
