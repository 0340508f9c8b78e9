"""applyviz: see what `kubectl apply` will do, approve it, run exactly that, and record it."""

__version__ = "0.1.0"
