"""Shared by tests: servers, clients, documents, strategies and counters."""
