"""Validation of built-in kinds, one module per family."""
