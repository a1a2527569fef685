"""Exports: edges as tables, and the files and tables to which rows are written."""
