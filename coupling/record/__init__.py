"""What the records of a cluster say: who ran where and when, on the nodes of a fabric."""
