"""The parsed form of a source, its last run, its earlier plans, and how its manifests differ from a plan."""
