"""The behavior of Go and Kubernetes: struct types, JSON text, quantities, protobuf, error statuses, name formats."""
