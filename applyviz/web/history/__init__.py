"""History: audit entries, the life of one object, evidence, retention."""
