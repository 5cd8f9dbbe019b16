"""What SPECweb99 asks for: classes of files and their shares of requests.

Must not know: servers, what is measured.
"""

CLASSES = [(100, .35), (1000, .50), (10_000, .14), (100_000, .01)]     # nine files each, of 1 to 9 times that size
FILES = (.039, .059, .088, .178, .353, .118, .071, .050, .044)          # the shares of the files of a class
DIRECTORY = sum(size * n for size, _ in CLASSES for n in range(1, 10))  # bytes
