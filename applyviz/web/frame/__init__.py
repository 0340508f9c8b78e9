"""The frame of every page: authorization, middleware, streams, and pages that wait for a worker."""
