"""The conformance runner, in parts: case, trace, build, script, sockets, suite."""
