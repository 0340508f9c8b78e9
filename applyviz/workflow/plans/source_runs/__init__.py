"""The parsed form of a source, its last run, and how its manifests differ from those of a plan."""
