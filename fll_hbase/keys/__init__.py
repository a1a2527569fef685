"""Order-preserving encodings of row keys: the only package that knows their bytes; it knows no table."""
