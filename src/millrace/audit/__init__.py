"""Audits: check that no record is lost, duplicated or altered."""
