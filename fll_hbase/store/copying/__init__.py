"""Copies of a whole store from one engine to another."""
