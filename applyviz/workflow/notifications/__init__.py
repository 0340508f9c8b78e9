"""Notifications to people and other programs: in the product, by email, by signed webhooks.

Events are derived from audit entries, once for each entry, so that no use case has to remember to notify. People are
not notified of their own acts, nor of anything that they may not see.
"""

from applyviz.workflow.notifications.deliveries import ask_again, deliver
from applyviz.workflow.notifications.events import send_pending
from applyviz.workflow.notifications.mail import send_mail
from applyviz.workflow.notifications.withdrawing import WithdrawnMessages, withdraw_unsent

__all__ = ["WithdrawnMessages", "ask_again", "deliver", "send_mail", "send_pending", "withdraw_unsent"]
