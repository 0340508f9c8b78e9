"""The nouns everybody shares: values, references, field paths, requests and answers, errors."""
