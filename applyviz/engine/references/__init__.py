"""References between objects: by name, by key and by label selector."""
