"""Shared types: values, references, field paths, requests and answers, errors."""
