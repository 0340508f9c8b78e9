"""The plan as data, and what is read from it: overview, summary, placeholders, server-managed fields."""
