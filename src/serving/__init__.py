"""What leaves the tables as they change: change feeds as JSON lines, standing queries."""
