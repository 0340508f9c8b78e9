"""Viewed objects, acknowledgements, comments, approvals and the quorum of a plan."""
