"""Credentials of requests: tokens of the store, JWT of an identity provider, and who they belong to."""
