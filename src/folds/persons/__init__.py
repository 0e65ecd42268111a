"""Person rules: compute conversions, credit and trails from a person's goals and touches."""
