"""Child processes: started, registered, kept running and ended."""
