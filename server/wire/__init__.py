"""Turn JSON into the engine's requests and its answers into JSON: the one place that knows the public field names."""
