"""Reviews: opening one, reading its plan, resolving conflicts, approving, applying."""
