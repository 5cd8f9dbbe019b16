"""What the drivers below tests/ share. Must not know: what they check."""
