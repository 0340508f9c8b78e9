"""What objects say of other objects: by name, by key and by label selector."""
