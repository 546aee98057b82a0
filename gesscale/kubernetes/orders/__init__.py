"""The order in a resource: what it says, how it is written, and what is known of it."""
