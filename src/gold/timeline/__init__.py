"""What a visitor did, and what the shop's database says of its customer, in one table."""
