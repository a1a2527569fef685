"""Attacks on real server processes, by their kind, and what they and their other clients keep meanwhile."""
