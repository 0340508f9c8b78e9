"""What is stored and where: resources, objects, storage strategies, allocations, bootstrap objects."""
