"""Shows the state of a workspace on a terminal."""
