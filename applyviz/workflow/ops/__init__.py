"""Operating an installation: recovery of lost work, key rotation, the demo, playground storage."""
