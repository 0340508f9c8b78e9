"""The parsed form of a source, its last run and its earlier plans, and how its manifests differ from those of a plan."""
