"""Tests of the spool: a directory of documents that wait to be recorded."""
