"""Statements that write, one file for each kind."""
