"""Reviews that follow a branch: webhooks of git hosts, their deliveries, and the plans that pushes lead to."""
