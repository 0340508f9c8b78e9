"""The REST API: requests, patches, reads, writes, deletes, watches, discovery, admission."""
