"""Clusters as the workflow sees them: registration, lifecycle, impersonation, permissions, sandboxes."""
