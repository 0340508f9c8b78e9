"""Planning a set: order, dependencies, prune, ApplySet parents, stages."""
