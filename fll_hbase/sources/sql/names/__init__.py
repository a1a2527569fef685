"""Names of datasets, of columns, and the columns that a table is known to have."""
