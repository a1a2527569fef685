"""Rendering of answers for terminals and pipes."""
