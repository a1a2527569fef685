"""Exported runs are the same when they are recorded again."""
