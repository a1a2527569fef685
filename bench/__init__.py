"""Benchmarks: `make bench` prints figures and ratios, each measured in one run."""
