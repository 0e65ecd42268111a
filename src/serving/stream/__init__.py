"""Sources that are followed once for all who subscribe to them."""
