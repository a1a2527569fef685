"""Scripts: their tokens and statements, and the state that statements share."""
