"""Events that real clients of OpenLineage sent, posted again to a server."""
