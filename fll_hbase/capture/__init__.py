"""Capture: field lineage of PySpark jobs, read from the analysed plans of what they execute."""
