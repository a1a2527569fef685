"""Document formats: each source is a pure function from a document to recorded runs."""
