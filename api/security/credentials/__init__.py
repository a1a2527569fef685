"""Credentials of requests: tokens of the store and JWT of an identity provider, and their principals."""
