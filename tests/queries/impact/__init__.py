"""Tests of the impact of a change."""
