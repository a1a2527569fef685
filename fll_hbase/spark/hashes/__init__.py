"""Hashes of cells, with which jobs find the rows that they need."""
