"""Names of datasets and of columns, and the known columns of tables."""
