"""Statements that write, with one file per kind."""
