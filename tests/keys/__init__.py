"""Keys: bytes sort as values do, parse in one way only, and match docs/row-keys.md."""
