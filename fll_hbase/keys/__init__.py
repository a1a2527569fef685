"""Order-preserving encodings of row keys: the only package that knows their bytes, independent of tables."""
