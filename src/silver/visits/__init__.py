"""Visits: sessions, impressions, searches and shown results, by visitor."""
