"""The zlib pair of the tests of stages: what decompresses in a server, what compresses in a client, and the
memory that a server has meanwhile.

Must not know: what the tests are about.
"""

import zlib

INFLATE = r'''
%{
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>
struct inflating { z_stream z; int begun; };
static int decompress(nest_stage *stage, struct inflating *it) {
    if (stage->over) {
        if (it->begun) inflateEnd(&it->z);
        fputs("released\n", stderr);
        return 0;
    }
    if (!it->begun && inflateInit(&it->z) != Z_OK) return -1;
    it->begun = 1;
    it->z.next_in = (Bytef *)(uintptr_t)stage->in;
    it->z.avail_in = (uInt)stage->in_n;
    it->z.next_out = stage->out;
    it->z.avail_out = (uInt)stage->out_n;
    int result = inflate(&it->z, Z_NO_FLUSH);
    stage->took = stage->in_n - it->z.avail_in;
    stage->gave = stage->out_n - it->z.avail_out;
    if (stage->end && stage->gave == 0) return result == Z_STREAM_END || it->z.total_in == 0 ? 0 : -1;
    return result == Z_OK || result == Z_BUF_ERROR || result == Z_STREAM_END ? 0 : -1;
}
%}
%decode inflate(decompress, struct inflating)
NL "\r"?"\n"
%%
'''
MOST = 60 << 20         # bytes that the processes of a server have of their own


class Stream:
    """A compressed stream: what its client says, piece by piece."""

    def __init__(self):
        self.it = zlib.compressobj(9)

    def __call__(self, data):
        return self.it.compress(data) + self.it.flush(zlib.Z_SYNC_FLUSH)

    def end(self, data=b''):
        """The last piece."""
        return self.it.compress(data) + self.it.flush()


def own(server):
    """The bytes of its processes that they do not share with a file."""
    total = 0
    for _, text in server.each('status'):
        total += sum(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith('RssAnon'))
    return total
