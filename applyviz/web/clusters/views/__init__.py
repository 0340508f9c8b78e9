"""Views of clusters."""
