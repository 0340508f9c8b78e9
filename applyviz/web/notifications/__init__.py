"""Notifications of one person, and what webhooks delivered."""
