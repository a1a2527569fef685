"""Maintenance: garbage collection and the analysis of what run rows need; the audit of a table."""
