"""Tests, each named as the module that it tests: docs/develop/contributing.md."""
