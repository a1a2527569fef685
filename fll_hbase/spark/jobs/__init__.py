"""Spark jobs: load, stream, retention, check and export."""
