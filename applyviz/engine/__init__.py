"""The calculation behind `kubectl apply`, pure: no I/O, no clock, inputs never changed.

Rooms, from the ground up: objects, schema, then merge, ownership, diff, readiness and manifests
(blind to each other), then requests, explain and risks, then planning.
"""
