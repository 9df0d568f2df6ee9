"""Organizations, the accounts that belong to them, and the keys that open them: stores and rules, no HTTP."""
