"""Foreign words to recorded runs: each source is a pure function of a document."""
