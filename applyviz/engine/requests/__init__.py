"""Flows: what is sent, in which order, given the answers; generators without I/O."""
