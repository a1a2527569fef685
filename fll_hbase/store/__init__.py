"""The store: runs as rows of a table, and queries over windows of time."""
