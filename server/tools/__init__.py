"""Hold the MCP tools, a module a noun: each tool's description for a model, and the function that runs it."""
