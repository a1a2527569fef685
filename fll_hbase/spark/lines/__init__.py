"""Lines of files and topics as documents, and lines that cannot be recorded."""
