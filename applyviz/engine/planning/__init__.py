"""Compute a plan from a set of manifests and the answers of a cluster: changes, order, steps, digest."""
