"""Flows: the requests of an apply in their order, given the answers; generators without I/O."""
