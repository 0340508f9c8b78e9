"""Who owns which field: server-side apply, updates, and the way from client-side to server-side apply."""
