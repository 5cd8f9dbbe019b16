/* Leases: a filter learns when nobody behind it has a connection any more, and in which state they
 * left it. A lease is a pipe; its write end travels with the connection, and each holder writes
 * into it what cc_close and cc_fork of the library say. */
#define _GNU_SOURCE
#include "frame.h"

#include <fcntl.h>
#include <unistd.h>

int ccf_lease(struct ccf_bundle *bundle) {
    int ends[2];
    if (bundle->leases == CCF_MAX_LEASES || pipe2(ends, O_CLOEXEC | O_NONBLOCK) == -1)
        return -1;
    ccf__seen(ends[0]);
    ccf__seen(ends[1]);
    bundle->lease[bundle->leases++] = ends[1];
    return ends[0];
}

bool ccf_lease_kept(int lease) {
    char bytes[256];
    long holders = 1, kept = 0, closed = 0;
    ssize_t got;
    while ((got = read(lease, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            holders += (bytes[i] == 'F') - (bytes[i] == 'U');
            kept += bytes[i] == 'K';
            closed += bytes[i] != 'K' && bytes[i] != 'F' && bytes[i] != 'U';
        }
    }
    return got == 0 && closed == 0 && kept == holders;
}
