"""Git repositories as sources: fetched shallow over checked connections, read in a child process, never checked out."""
