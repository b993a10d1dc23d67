"""Kernels run as the plain Python that they are, for small inputs: compiling takes longer."""
