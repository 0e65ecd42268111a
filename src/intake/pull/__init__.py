"""Pull: events of streams that the collector connects to, resumed by their ids."""
