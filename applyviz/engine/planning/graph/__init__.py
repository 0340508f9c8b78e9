"""How the objects of a plan refer to each other, before and after it, and what that puts at risk."""
