"""What the report says before its sections, the tables and figures that it repeats, and the programs whose versions it names."""

SOURCE = 'The thesis'
PROGRAMS = ((['nginx', '-v'], r'nginx/\S+', '{}'), (['apache2', '-v'], r'Apache/\S+', '{}'),
            (['lighttpd', '-v'], r'lighttpd/\S+', '{}'), (['h2o', '--version'], r'h2o version (\S+)', 'h2o {}'),
            (['mini_httpd', '-V'], r'mini_httpd/\S+', '{}'), (['httperf', '--version'], r'httperf-\S+', '{}'),
            (['flex', '--version'], r'flex \S+', '{}'))
DOCUMENT = 'Automatic Generation of Network Servers (Kelly Wilson, thesis, 2005)'
NEEDS = ''    # beside what is installed
# What the document calls it, what it shows, and the experiment that repeats it or a sentence that says why none does.
ITEMS = (('Figure 5.1', 'times of connections, model process', 'process', ''),
         ('Table 5.1', 'errors, model process', 'process', ''),
         ('Figure 5.2', 'times of connections, model event', 'event', ''),
         ('Table 5.2', 'errors, model event', 'event', ''),
         ('Figure 5.3', 'times of connections, model thread', 'thread', ''),
         ('Table 5.3', 'errors, model thread', 'thread', ''),
         ('an open question', 'whether Lex would match faster than libpcre', 'matching', ''))
INTRODUCTION = '''# The experiments of the thesis, on today's servers

[`experiments/nest.py`](nest.py) writes this page and its plots; `make experiments-nest` repeats it. The experiments are those of
chapter 5 of the thesis that nest comes from ([what it brought](../docs/thesis.md)): Figures 5.1 to 5.3, Tables 5.1 to 5.3, and the
question which it left open, whether Lex would match faster than libpcre.

**How to read it.** Three clients, as in the thesis, and with its program, httperf, fetch one file of 2 KB, each connection once. A
server and its clients share the machine and its loopback; the thesis had four machines. Absolute numbers of 2004 and of today are not
comparable. The figures of the thesis were available without their numbers; what its text says of them stands here.

**Connection time** is the time until the answer begins, as in the thesis: what httperf calls connect and response. **Transfer time** is the time
from there until the whole file has come. **CPU** is the time that the scheduler counts for all processes of a server, divided by the
number of connections; its clients are not in it.

**The servers.** nest is the server that it generates from `examples/web`, without a log, in each of its models. Of the others of the
thesis, Apache and mini_httpd are still maintained; mathopd, Haboob and JAWS are in no distribution any more, and nginx, lighttpd and h2o
take the places of the first two. Models that a thesis of 2004 could not know stand beside those that it had.
'''
