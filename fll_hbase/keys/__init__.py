"""Values to ordered bytes and back: the only place that knows the bytes; knows no table."""
