"""Planning one object: requests, resolutions, notes, masking, progress, revert."""
