"""Reports for people who answer for data: consumption and provenance of a field."""
