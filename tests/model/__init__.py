"""Lineage algebra: its laws, compared with a naive walk."""
