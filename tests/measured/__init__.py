"""What benchmarks and tests measure alike: random scenes, cases of another program, a paper."""
