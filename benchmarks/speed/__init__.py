"""How fast runs and commands are, and where their time goes."""
