"""Value types of the loop: observations, decisions and orders."""
