"""Maintenance: garbage collection, with the analysis of the cells that runs need, and audits of a table."""
