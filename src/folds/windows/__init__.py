"""Window rules: aggregate visitors' minutes to sums over all visitors."""
