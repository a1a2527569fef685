"""Tests of answers in a notebook: pictures and tables."""
