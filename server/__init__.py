"""The HTTP edge: REST, MCP and the console over the engine."""
