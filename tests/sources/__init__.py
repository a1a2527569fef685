"""Each source reads what its clients send: shapes, golden cases, arbitrary input."""
