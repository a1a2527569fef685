"""Rows of the store: what a run, a content, a tag or a calendar is in bytes."""
