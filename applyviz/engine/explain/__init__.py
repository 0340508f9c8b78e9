"""Why: for every field of the four versions, what happens to it and by which rule."""
