"""Where boxes and lines of a picture stand: layered, deterministic, and without knowing what they are."""
