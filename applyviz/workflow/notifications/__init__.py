"""Telling people and other programs what happened: in the product, by mail, by signed webhooks.

What happened is read from the history, once for each entry, so that nothing has to remember to tell. Nobody is told
of what they did themselves, nor of what they may not look at.
"""

from applyviz.workflow.notifications.deliveries import ask_again, deliver
from applyviz.workflow.notifications.events import send_pending
from applyviz.workflow.notifications.mail import send_mail

__all__ = ["ask_again", "deliver", "send_mail", "send_pending"]
