"""Tests of the command line: output for people and for programs, errors on one line."""
