"""Simulate an API server: estimated answers, dry-run results, kubectl's own requests."""
