"""Lines of files and topics as documents, and those that cannot be recorded."""
