"""Metrics, logs and traces of a server, and the files that deploy it."""
