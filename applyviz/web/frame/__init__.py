"""What every page stands in: who may see it, the connection, streams, and pages that wait for a worker."""
