"""Read models of a review and its plan: small frozen rows that templates print."""
