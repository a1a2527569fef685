"""Queries: the columns they return, and what decides about their rows."""
