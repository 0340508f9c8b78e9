"""Parts that pages of several areas print: badges, owners, values, links, notices."""
