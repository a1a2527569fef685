"""Clients lose nothing when real server processes are killed, paused and restarted."""
