"""Cost files of ad platforms: the rows of a file, and the records to send."""
