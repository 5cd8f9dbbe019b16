"""Code shared by the test drivers below tests/. Must not know: what they check."""
