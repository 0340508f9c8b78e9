"""Agreement with the real thing: recorded stories and random cases, run through the product's code."""
