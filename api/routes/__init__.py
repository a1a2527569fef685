"""Routes, one module for each group."""
