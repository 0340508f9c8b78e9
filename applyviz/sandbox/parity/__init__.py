"""Go and Kubernetes as programs: struct types, JSON text, quantities, protobuf, error statuses, name formats."""
