"""Attacks on what is secret and on what was approved; each must fail."""
