"""Live objects: scans, drift, unreviewed changes, ownership over time, other tools' applies, adoption."""
