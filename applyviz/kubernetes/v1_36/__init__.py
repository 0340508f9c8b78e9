"""What Kubernetes v1.36 declares: kinds, Go types, defaults and the rules of built-in kinds; `README.md` lists it."""
