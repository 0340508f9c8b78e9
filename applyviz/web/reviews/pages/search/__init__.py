"""Search in what plans change: fields as lines of text, by path, by value and by what happens to them."""
