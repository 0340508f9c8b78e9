"""What a review shows of its manifests: the objects found, where each file came from, what changed in the source."""
