"""The API for pipelines and agents."""
