"""Data-driven attribution: paths, the Markov model, and its runs in MLflow."""
