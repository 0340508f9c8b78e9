"""The effects of changes, the digest that an approval binds to, and the comparison of plans."""
