"""What a reviewer must know that no diff shows; one rule per file, each with a test."""
