"""Settings: people, teams, policies, tokens, impersonation, webhooks."""
