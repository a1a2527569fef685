"""Queries: their parameters, and their answers as JSON and in other formats."""
