"""The Owners tab: the map of objects and field managers, and the tree of one object."""
