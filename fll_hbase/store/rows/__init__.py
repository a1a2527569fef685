"""Rows of the store: how runs, contents, tags and calendars are encoded as bytes."""
