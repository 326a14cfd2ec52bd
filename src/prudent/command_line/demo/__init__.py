"""The demonstration: insulin doses for meals of virtual patients, for whom the outcome of every dose is known."""
