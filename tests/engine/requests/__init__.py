"""Tests of kubectl's flows, its command line and its inputs."""
