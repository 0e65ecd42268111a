"""Files that the collector serves to browsers: the tracker, and a demo shop that uses it."""
