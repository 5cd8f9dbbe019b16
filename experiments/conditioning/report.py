"""What the report says before its sections, the tables and figures that it repeats, and the programs whose versions it names."""

SOURCE = 'The paper'
PROGRAMS = ((['nginx', '-v'], r'nginx/\S+', '{}'), (['apache2', '-v'], r'Apache/\S+', '{}'),
            (['wrk', '-v'], r'wrk \S+', '{}'), (['slowhttptest', '-h'], r'version (\S+)', 'slowhttptest {}'))
DOCUMENT = 'Connection Conditioning: Architecture-Independent Support for Simple, Robust Servers (Park and Pai, NSDI 2006)'
NEEDS = ''    # beside what is installed
# What the document calls it, what it shows, and the experiment that repeats it or a sentence that says why none does.
ITEMS = (('Table 1', 'sizes of the code', 'sizes', ''), ('Figure 4', 'one file, answers a second', 'files', ''),
         ('Figure 5', 'one file, throughput', 'files', ''), ('Figure 6', 'sets of files', 'sets', ''),
         ('Figure 7', 'sets of files', 'sets', ''),
         ('Figure 8', 'chained filters, latency', 'filters', ''), ('Figure 9', 'chained filters, throughput', 'filters', ''),
         ('Figure 10', 'incomplete connections', 'incomplete', ''), ('Figure 11', 'a rare client beside heavy ones', 'rare', ''),
         ('Figure 12', 'idle persistent connections', 'persistent', ''), ('not in it', 'slowhttptest', 'slowhttptest', ''),
         ('sections 4.2, 5.2', 'the beck attack', 'beck', ''))
INTRODUCTION = '''# The experiments of the paper, on today's servers

[`experiments/conditioning.py`](conditioning.py) writes this page and its plots; `make experiments-conditioning` repeats it.
The experiments are those of section 4 of *Connection Conditioning: Architecture-Independent Support for Simple,
Robust Servers* by KyoungSoo Park and Vivek S. Pai (NSDI 2006), each beside the figure or table that it repeats.

**How to read it.** Servers that are compared run at the same time, and are measured in turns: A, B, A, B, … . A ratio is the median of the
ratios of neighbours, so load that other processes put on the machine affects both sides. Rates are medians. Server and
load share the machine and its loopback; the paper had five machines. Absolute numbers of 2006 and of today are not
comparable; shapes and ratios are. The figures of the paper were available as text only: where its text gives no number, the shape that the
text describes stands here.

**CPU** is the time that the scheduler counts for all processes of a server, filters and cc-chain included, divided by the number
of answers.

**The servers.** Apache is prefork with 150 processes, unmodified, behind `cc-condition`; the paper modified Apache to use
its library. nginx takes the place of Flash as the event-driven server. nest is the server that nest generates from `examples/web`, event model.
ccserver is our version of the paper's CCServer, on the library; it cannot run without filters. Haboob (Java, 2001) is
left out: it is no longer maintained, and no package of it exists.
'''
