"""Reports for people who answer for data: consumption (FLL-1) and provenance (FLL-2) of a field."""
