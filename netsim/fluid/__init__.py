"""The contention model `fluid`: what running jobs do to each other on shared links."""
