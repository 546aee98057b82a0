"""Three demos that show the whole loop at work and check what they showed: a scenario each, played by one stage."""
