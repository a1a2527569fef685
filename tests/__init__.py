"""Tests, each named as the module that it tests: docs/contributing.md."""
