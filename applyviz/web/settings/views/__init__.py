"""Views of the settings."""
