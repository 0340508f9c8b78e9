"""The playground explains the merge of one object from its pasted versions."""
