"""Hold one module a background task; each says in its docstring what a round of it does."""
