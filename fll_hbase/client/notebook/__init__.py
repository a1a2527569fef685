"""Answers in a notebook: pictures of graphs, and tables in HTML."""
