"""What the report says before its sections, and the programs whose versions it names."""

SOURCE = 'The paper'
PROGRAMS = ((['nginx', '-v'], r'nginx/\S+', '{}'), (['apache2', '-v'], r'Apache/\S+', '{}'),
            (['h2o', '--version'], r'h2o version (\S+)', 'h2o {}'))
INTRODUCTION = '''# The experiments of the N-Server, on today's servers

[`experiments/nserver.py`](nserver.py) writes this page and its plots; `make experiments-nserver` repeats it. The experiments are those of
the N-Server's paper ("Using Generative Design Patterns to Develop Network Server Applications"): Figures 3 and 4, throughput and
fairness beside Apache; Figure 5, two classes of clients; Figure 6, response times with and without overload control. Its Tables 3 and 4
count the lines of two servers; ours are counted in the READMEs of [the web server](../examples/web/README.md) and
[the FTP server](../examples/ftp/README.md).

**How to read it.** The paper had 16 client machines on a network of 100 Mb/s, which was its bottleneck from 256 clients on. Here the
server runs on one core, the program that loads it on another, and they share the loopback. So the server's core is the
bottleneck, and absolute numbers are not comparable. The figures of the paper were available without their numbers; what its text
says of them stands here.

**A client** opens a connection, asks for files one after another, pauses for 20 ms after each answer, and closes the connection after
the fifth. Each answer's status and length are checked.
'''
