"""The documents, and what generates parts of them from stored results."""
