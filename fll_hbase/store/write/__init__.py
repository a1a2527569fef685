"""Writing: the commit protocol of docs/row-keys.md, "How rows are written"."""
