"""Rooms, doors, keys, boxes and balls: MiniGrid's MultiRoom and ObstructedMaze, as chapter 3 uses them."""
