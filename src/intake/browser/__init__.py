"""What the collector serves to browsers: the tracker, and the page of a shop to try it with."""
