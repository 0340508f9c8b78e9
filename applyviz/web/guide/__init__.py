"""The guide: the rules of apply with computed examples."""
