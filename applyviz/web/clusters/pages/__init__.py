"""Read models of clusters."""
