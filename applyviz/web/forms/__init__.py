"""Every input passes one of these forms; nothing else reads what a browser sent."""
