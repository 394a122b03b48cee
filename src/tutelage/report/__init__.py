"""What runs have come to: read from their directories, compared, and put on one page."""
