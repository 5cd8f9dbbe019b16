"""What the report says before its sections, the tables and figures that it repeats, and the programs whose versions it names."""

SOURCE = 'The paper'
PROGRAMS = ((['nginx', '-v'], r'nginx/\S+', '{}'), (['apache2', '-v'], r'Apache/\S+', '{}'),
            (['h2o', '--version'], r'h2o version (\S+)', 'h2o {}'))
DOCUMENT = 'Using Generative Design Patterns to Develop Network Server Applications (Guo, Schaeffer, Szafron, Earl)'
NEEDS = ''    # beside what is installed
# What the document calls it, what it shows, and the experiment that repeats it or a sentence that says why none does.
ITEMS = (('Table 1', 'options of the web server', None, 'Nothing is measured; [as a specification](../examples/web/cops-http.nest).'),
         ('Table 3', 'lines of the web server', None, 'Nothing is measured; [counted](../examples/web/README.md).'),
         ('Table 4', 'lines of the FTP server', None, 'Nothing is measured; [counted](../examples/ftp/README.md).'),
         ('Figure 3', 'throughput', 'fairness', ''), ('Figure 4', 'fairness', 'fairness', ''),
         ('Figure 5', 'two classes of clients by their quotas', 'classes', ''),
         ('Figure 6', 'response times with and without overload control', 'overload', ''))
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
the fifth. If the server ends it between two answers, the client makes another one. Each answer's status and length are checked.
'''
