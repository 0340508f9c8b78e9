"""Helm charts: the archive or folder that a person names, what it holds, and the manifests that helm renders of it."""
