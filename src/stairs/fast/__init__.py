"""What makes a model fast: each file says which plain function it equals, and which test proves it."""
