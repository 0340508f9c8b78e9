"""Read models of apply runs."""
