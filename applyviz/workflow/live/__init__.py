"""Live objects: scans, drift, unreviewed changes, ownership over time, applies of other tools, adoption."""
