"""Read models of the history."""
