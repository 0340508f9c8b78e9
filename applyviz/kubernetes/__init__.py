"""Kubernetes as the sandbox imitates it: `parity`, what every release does, and a folder for what a minor declares."""
