"""Logs, audit, metrics, traces, readiness and recent activity of a server."""
