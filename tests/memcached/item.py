"""What one key of a cache may answer, for the oracle: a sequential memcached.

A state is (value, version, least): the version is None until somebody has seen it, and a new one is at
least `least`. Must not know: how it is asked.
"""

EMPTY = (None, None, 0)     # no value


def step(state, call):
    """The state after this call; None: the answer is impossible."""
    value, version, least = state
    verb, *words = call.what
    given = call.answer
    if verb == 'forget':            # the server has begun anew
        return EMPTY
    if verb == 'gets':
        if given is None:
            return state            # it has no effect
        if value is None or given == 'none':
            return state if value is None and given == 'none' else None
        seen_value, seen_version = given
        if seen_value != value or (version is not None and seen_version != version):
            return None
        if version is None and seen_version <= least:
            return None
        return (value, seen_version, max(least, seen_version))
    after, right = _change(state, verb, words)
    if given is not None and given != right:
        return None
    return after


def _change(state, verb, words):
    """What a command that writes leaves, and its answer."""
    value, version, least = state
    if verb == 'set' or (verb == 'add' and value is None):
        return (words[0], None, least), 'STORED'
    if verb == 'add':
        return state, 'NOT_STORED'
    if verb == 'delete':
        return ((None, None, least), 'DELETED') if value is not None else (state, 'NOT_FOUND')
    if value is None:
        return state, 'NOT_FOUND'
    if verb == 'incr':
        number = int(value) + words[0]
        return (str(number).ljust(len(value)), None, least), str(number)
    if verb == 'cas':
        if version != words[1]:
            return state, 'EXISTS'
        return (words[0], None, least), 'STORED'
    raise ValueError(verb)
