"""Field-level lineage: which runs produced a field, from which source fields, by which operations."""
