"""The conformance runner; the README describes its parts."""
