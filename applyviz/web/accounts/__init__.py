"""Sign-in, and the account of the signed-in person."""
