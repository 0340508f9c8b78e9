"""Foundations of the workflow: clock, locks, errors, keyed digests, scopes and messages."""
