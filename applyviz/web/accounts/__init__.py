"""Signing in, and the account of the person who signed in."""
