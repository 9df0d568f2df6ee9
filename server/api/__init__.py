"""Answer REST calls: each handler hands a checked request to the engine and shows what comes back."""
