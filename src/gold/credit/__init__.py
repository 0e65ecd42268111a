"""Credit: touches, conversions, attribution and trails that a batch affects."""
