"""What the loop sees, concludes and orders: every value declared once."""
