"""Conflicts of field managers and what resolves them: options, edits of files, removals that are blocked."""
