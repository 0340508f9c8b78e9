"""Explanations: for every field, what happens to it and which rule decides."""
