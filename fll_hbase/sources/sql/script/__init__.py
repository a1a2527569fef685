"""Scripts: their tokens, their statements, and the state that statements share."""
