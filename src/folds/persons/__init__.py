"""Rules about persons: a person's goals and touches to conversions, credit and trails."""
