"""Long-term memory for AI agents: typed, scored memories in a graph, recalled by spreading activation."""
