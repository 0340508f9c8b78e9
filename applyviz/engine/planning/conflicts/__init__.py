"""Conflicts of field managers and their resolutions: options, edits of files, blocked removals."""
