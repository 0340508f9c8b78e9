"""What every room of the workflow uses: clock, locks, errors, keyed digests, scopes, messages."""
