"""What a review shows of the people who approve it."""
