"""Risks: what a reviewer must know that a diff does not show; one rule per module, each with a test."""
