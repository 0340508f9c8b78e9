"""The storage of a sandbox: resources, objects, storage strategies, allocations, bootstrap objects."""
