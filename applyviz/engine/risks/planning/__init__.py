"""The kinds of risks that planning finds, because they are about more than the change of one object."""
