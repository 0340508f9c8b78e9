"""The graph of a plan: the references between its objects before and after it, and their risks."""
