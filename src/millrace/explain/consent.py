"""What a refusal of consent means for a conversion, as text."""

NO_CREDIT = "It takes part in no credit, and has no trail: there was no consent to attribution."
"""Of a conversion without consent to attribution, or that takes back from an order without it."""
