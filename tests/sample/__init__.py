"""Tests of the sample and of the tour."""
