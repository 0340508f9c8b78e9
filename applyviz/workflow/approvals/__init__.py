"""Viewed objects, acknowledgments, comments, approvals and the quorum of a plan."""
