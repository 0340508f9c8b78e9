"""Clusters: the list, one cluster, what scans found, management, and the API of a sandbox."""
