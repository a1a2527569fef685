"""Batches of queries, each answered as its own request."""
