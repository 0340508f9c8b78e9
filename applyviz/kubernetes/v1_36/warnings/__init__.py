"""Warnings of the server about objects that it accepts; `kinds` has an entry per kind."""
