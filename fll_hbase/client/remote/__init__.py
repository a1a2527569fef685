"""The client of a server, over HTTP."""
