"""Reviews: creating one, viewing its plan, resolving conflicts, approving, applying."""
