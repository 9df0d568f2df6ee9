"""Do in the background what no request should wait for."""
