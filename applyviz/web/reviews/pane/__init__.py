"""Read models of one object: fields, owners, diff, requests, YAML, and resolutions of its conflicts."""
