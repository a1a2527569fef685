"""Rewrites: statements that the SQL library does not parse, as tokens of one that it does."""
