"""AuTraScale+: its settings, what it computes, its steps, what it remembers, and the policy they make up."""
