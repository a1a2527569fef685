"""Tests of the client: HTTP sessions, and equal answers of both clients."""
