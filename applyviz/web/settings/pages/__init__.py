"""Read models of the settings."""
