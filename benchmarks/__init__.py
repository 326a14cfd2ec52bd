"""Speed, memory and quality against peers, measured in one run."""
