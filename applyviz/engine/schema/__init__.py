"""What the kinds look like: fields, merge keys, list and map topologies, and who knows them."""
