"""Forms of the settings."""
