"""What several tasks are made of."""
