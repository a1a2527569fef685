"""Writing: the commit protocol of docs/reference/row-keys.md, "How rows are written"."""
