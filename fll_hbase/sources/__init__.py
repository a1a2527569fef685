"""Document formats: each source is a pure function that turns a document into recorded runs."""
