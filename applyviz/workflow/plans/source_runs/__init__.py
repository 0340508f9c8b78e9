"""The last run of the same source, and how its manifests differ from those of a plan."""
