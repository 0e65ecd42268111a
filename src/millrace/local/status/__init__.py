"""What a workspace is doing, on a terminal."""
