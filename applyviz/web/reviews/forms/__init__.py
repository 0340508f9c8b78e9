"""Forms of reviews: every input passes one; nothing else reads what a browser sent."""
