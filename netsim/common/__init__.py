"""What all rooms use: arrays, errors, units, files, random numbers, compiled kernels."""
