"""What the report says before its sections, the tables and figures that it repeats, and the programs whose versions it names."""

SOURCE = 'The document'
PROGRAMS = ((['nginx', '-v'], r'nginx/\S+', '{}'), (['apache2', '-v'], r'Apache/\S+', '{}'),
            (['lighttpd', '-v'], r'lighttpd/\S+', '{}'), (['h2o', '--version'], r'h2o version (\S+)', 'h2o {}'),
            (['wrk', '-v'], r'wrk (\S+)', 'wrk {}'))
DOCUMENT = 'High performance kernel mode web server for Windows (Bo Brantén, 2005)'
NEEDS = ', as root'    # beside what is installed
# What the document calls it, what it shows, and the experiment that repeats it or a sentence that says why none does.
ITEMS = (('section 5.2', 'requests and throughput by size of the file', 'sizes', ''),
         ('section 5.2', 'one request a connection', 'closing', ''),
         ('section 5.2', 'links of 10, 100 and 1000 Mb/s', 'links', ''),
         ('section 5.1.1', 'idle connections', 'idle', ''), ('section 5.1.1', 'overload', 'many', ''),
         ('section 5.2', 'a filter that looks at files', 'filtered', ''))
INTRODUCTION = '''# The measurements of the kernel mode web server, on today's kernel

[`experiments/kernel.py`](kernel.py) writes this page and its plots; `make experiments-kernel` repeats it. The measurements are those of
section 5 of *High performance kernel mode web server for Windows* by Bo Brantén (2005): by size of the file, on three networks, with a
filter that looks at files; and what it names and did not measure, idle connections and overload. Its diagrams are not numbered, and
were available without their numbers; what its text says of them stands here.

**How to read it.** A server and its clients are in two network namespaces, joined by a veth pair. The server's processes and the softirq of its
end (RPS) are on one core, the clients and theirs on another. The document had two machines and a switch. Absolute numbers of 2005 and of
today are not comparable; ratios are. Servers that are compared are measured in turns.

**The servers.** nginx has one worker, no log and kept files; nest is the server of `examples/web`, without a log. "kernel" is `nest accelerate` in
front of the server named before it, which answers what it has from BPF programs and hands the rest over. The epoll loop sends a constant and
parses nothing: what a program in user mode can do at most with these calls.
'''
