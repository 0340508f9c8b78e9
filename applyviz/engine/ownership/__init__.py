"""Field ownership: server-side apply, updates, and the migration from client-side to server-side apply."""
