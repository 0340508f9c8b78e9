"""Tests of readiness."""
