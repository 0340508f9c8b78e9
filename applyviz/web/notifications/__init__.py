"""Notifications of one person, and deliveries of webhooks."""
