"""Shared parts of the sources that read exported query history of warehouses."""
