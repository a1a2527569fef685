"""Tools for assistants: queries over the Model Context Protocol (MCP)."""
