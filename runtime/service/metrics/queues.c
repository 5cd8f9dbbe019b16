/* queues.c: how many connections wait in the queues of the listening sockets.
 *
 * Called by metrics.c and text.c. State: copies of the sockets' descriptors, made by the supervisor
 * for the service process, which closes the sockets themselves. A socket that no longer listens, or
 * that is no TCP socket, has no queue that the system tells. */
#include "counts.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static struct nest__metrics_queue queues[NEST__LISTEN_MAX]; /* scope: process */
static int queues_fd[NEST__LISTEN_MAX];                     /* scope: process */
static unsigned queues_n;                                   /* scope: process */

void nest__metrics_queues_open(void) {
    for (; queues_n < nest__listener_count; queues_n++) {
        queues[queues_n].name = nest__listeners[queues_n].name;
        queues_fd[queues_n] = fcntl(nest__listeners[queues_n].fd, F_DUPFD_CLOEXEC, 3);
    }
}

void nest__metrics_queues_close(void) {
    for (; queues_n > 0; queues_n--) {
        close(queues_fd[queues_n - 1]);
    }
}

unsigned nest__metrics_queues(const struct nest__metrics_queue **all) {
    unsigned n = 0;
    for (unsigned i = 0; i < queues_n; i++) {
        struct tcp_info info;
        socklen_t size = sizeof info;
        if (getsockopt(queues_fd[i], IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
            info.tcpi_state == TCP_LISTEN) {
            queues[i].waits = info.tcpi_unacked; /* of a listening socket: its queue, */
            queues[i].most = info.tcpi_sacked;   /* and the most that it holds (tcp(7)) */
            n += queues[i].most > 0;
        } else {
            queues[i].most = 0;
        }
    }
    *all = queues;
    return n == 0 ? 0 : queues_n;
}
