"""Accounts, teams, grants, sessions, sign-in, API tokens, and changes of rights."""
