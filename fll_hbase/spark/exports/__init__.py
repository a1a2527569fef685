"""Exports: edges as tables, and the files and tables they are written to."""
