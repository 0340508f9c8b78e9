"""applyviz: see what `kubectl apply` will do, agree on it, run exactly that, remember it."""

__version__ = "0.1.0"
