"""Results: the tables of a run, and the numbers that are made of them."""
