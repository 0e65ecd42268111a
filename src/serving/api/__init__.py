"""The streaming API: server-sent events, WebSockets, long poll."""
