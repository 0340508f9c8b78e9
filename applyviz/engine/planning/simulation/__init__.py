"""What an API server would answer: estimated answers, dry-run results, kubectl's own requests."""
