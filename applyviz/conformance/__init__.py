"""Conformance with real kubectl and API servers: recorded stories and random cases, run through the product."""
