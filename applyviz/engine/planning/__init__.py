"""From a set of manifests and a cluster's answers to a plan: changes, order, steps, digest."""
