"""What git says: one module starts it, and the others ask it in batches and return facts."""
