"""Field-level lineage: who made each field, from what, by which operations, in exactly the window asked."""
