"""Everything that is stored of a person."""
