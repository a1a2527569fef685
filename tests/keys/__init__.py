"""Keys: bytes sort as values do, parse in one way only, and match docs/reference/row-keys.md."""
