"""Maintenance: garbage collection, the analysis of what run rows need, and the audit of a table."""
