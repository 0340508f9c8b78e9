"""Tests of planning, on the sandbox."""
