"""Schemas of kinds: fields, merge keys, list and map topologies, and their sources."""
