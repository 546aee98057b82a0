"""Knowledge: what the loop remembers from one step, and one start, to the next."""
