"""A cluster in a box: the REST semantics of a Kubernetes API server over the engine, storage injected."""
