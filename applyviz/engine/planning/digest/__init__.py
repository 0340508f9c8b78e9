"""Effects of changes, the digest that an approval binds to, and comparison of plans."""
