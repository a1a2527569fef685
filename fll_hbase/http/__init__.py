"""HTTP requests to a lineage server, without its questions and answers: small enough for a captured job."""
