"""Engine values and rows of the database become small frozen rows; templates only loop and print."""
