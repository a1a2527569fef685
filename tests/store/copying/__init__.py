"""Copies of stores."""
