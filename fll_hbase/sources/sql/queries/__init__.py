"""Queries: the columns they return, and what influences their rows."""
