"""Foundations of the workflow: locks, errors, keyed digests, scopes and messages."""
