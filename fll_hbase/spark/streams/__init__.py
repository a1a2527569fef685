"""Sources of streams, their options and their identity."""
