"""A simulated cluster: the REST semantics of a Kubernetes API server over the engine, with injected storage."""
