"""The real Spark agent of OpenLineage in a real job, against a real server."""
