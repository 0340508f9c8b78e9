"""Search: one field that finds reviews, runs, objects and people."""
