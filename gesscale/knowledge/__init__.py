"""Knowledge that the loop keeps between steps and processes."""
