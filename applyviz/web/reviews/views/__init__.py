"""Views of reviews. A view authorizes, reads a form, calls one use case, answers."""
