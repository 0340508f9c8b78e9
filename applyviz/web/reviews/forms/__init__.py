"""Forms of reviews: all browser input passes through one of them."""
