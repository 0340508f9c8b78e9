"""Signing in; Django's own view with the page's looks."""

from __future__ import annotations

from django.contrib.auth.views import LoginView

sign_in = LoginView.as_view(template_name="accounts/login.html", redirect_authenticated_user=True)
