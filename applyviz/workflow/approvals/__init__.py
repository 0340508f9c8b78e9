"""What people say about a plan: viewed objects, acknowledgements, comments, approvals, quorum."""
