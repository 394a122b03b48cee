"""A page that runs without a server: mazes and students in one file (`tutelage page`)."""
