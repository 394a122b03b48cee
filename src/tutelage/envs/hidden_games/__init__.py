"""Games with something hidden, small enough for exact answers: what a curriculum's bias does, and what grounding."""
