"""Approvals on the pages of a review."""
