"""The Graph tab: which nodes are shown, how they are drawn, and what stands beside them."""
