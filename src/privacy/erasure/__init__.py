"""Erasure of persons: which records are theirs, and the steps that erase them."""
