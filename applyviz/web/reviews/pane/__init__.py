"""Read models of one object: fields, owners, diff, requests, YAML, and the resolutions of its conflicts."""
