"""History: audit entries, the history of one object, evidence, retention."""
