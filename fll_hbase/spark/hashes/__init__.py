"""Hashes of cells, by which a job finds the rows that it looks for."""
