"""Schemas: structural schemas and rules of custom resources, defaults of built-in kinds."""
