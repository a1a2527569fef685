"""The HTTP server: waitress reads requests and sends answers outside the request threads (decision 18)."""
