"""What Debian's memcached passes of its own tests and examples/memcached does not, with the reason.

Must not know: how the tests are run.
"""

SLABS = 'slab classes, of which the example has none'
BINARY = 'the binary protocol'
OPTIONS = 'options of the command line of memcached'

# Tests of which whatever memcached passes may be missing.
EXCEPTIONS = {
    '00-startup': OPTIONS,
    'binary': BINARY,
    'binary-extstore': BINARY,
    'dyn-maxbytes': 'cache_memlimit: the size of %shared is fixed',
    'issue_163': SLABS,
    'issue_29': SLABS,
    'issue_42': SLABS,
    'lru-crawler': SLABS + '; the crawler',
    'maxconns': 'connections above the limit wait, and are not refused',
    'restart': OPTIONS,
    'slabs-reassign2': SLABS,
    'slabs_reassign': SLABS,
    'stats-conns': 'stats conns, a list of all connections',
    'strtol-testing': SLABS + ': slabs automove',
    'watcher': 'watch, a log for clients',
    'watcher_connid': 'watch, a log for clients',
}

# Of other tests, patterns of the names of single statements, in which # stands for numbers.
STATEMENTS = {
    '64bit': [('# active slab', SLABS)],
    'lru-maintainer': [('expired key automatically reclaimed',
                        'what has expired is freed after a minute, and not by a crawler after a second')],
    'stats': [('initial bytes_written is zero', 'bytes of connections are not counted'),
              ('initial (listen_disabled_num|time_in_listen|accepting_conns)',
               'whether the server accepts clients is not told'),
              ('initial lrutail_reflocked|statement 103', SLABS),
              ('statement 79', 'the largest number of connections is not told')],
}
