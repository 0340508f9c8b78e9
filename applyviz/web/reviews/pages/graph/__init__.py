"""The Graph tab: which nodes are shown, how they are drawn, and the panel beside them."""
