/* metrics.c: the life of the counts: memory, address, who adds what when.
 *
 * Called at join points. State: the listening socket, which the supervisor opens with its rights
 * and the service process serves. Must not know what is counted, nor HTTP. */
#include "../../listener/listener.h"
#include "../../platform/platform.h"
#include "../../workers/children.h"
#include "counts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct nest__listener metrics_listener = {.fd = -1}; /* scope: process */
static struct nest__socket_file metrics_file;               /* scope: process */
static size_t metrics_at; /* scope: process; of the counts, in a report */

int nest__metrics_listener(void) {
    return metrics_listener.fd;
}

static int metrics_listen(void) {
    struct nest__endpoint address;
    char reason[NEST__ENDPOINT_REASON];
    if (nest__endpoint_parse(nest__config.metrics, strlen(nest__config.metrics), &address,
                             reason) != 0) {
        return -EINVAL; /* the configuration has checked it */
    }
    int error = nest__socket_listen(&address, &metrics_listener, &metrics_file);
    if (error == 0 && fcntl(metrics_listener.fd, F_SETFL, O_NONBLOCK) == -1) {
        error = -errno;
    }
    if (error == 0) {
        nest__say("metrics at %s", metrics_listener.name);
    }
    return error;
}

int nest__metrics_start(void) {
    metrics_at = nest__report_reserve(nest__metrics_worker_size());
    int error = nest__metrics_sums_prepare(metrics_at);
    if (error != 0) {
        nest__say("cannot start: no memory for metrics");
        return error;
    }
    return nest__config.metrics == NULL ? 0 : metrics_listen();
}

int nest__metrics_serve(void) {
    struct nest__metrics_worker *own = nest__report_own(metrics_at);
    nest__metrics_sums_seal();
    if (own != NULL) { /* a worker: nobody reaches its descriptors */
        nest__metrics_count_into(own);
        nest__metrics_count_helpers(own);
        nest__metrics_queues_close();
        if (metrics_listener.fd != -1) {
            close(metrics_listener.fd);
        }
    }
    return 0;
}

unsigned nest__metrics_mind(void) {
    if (metrics_listener.fd != -1) {
        nest__metrics_queues_open();
    }
    nest__metrics_tell((struct nest__metrics_state){.stopping = nest__phase() != NEST__SERVING,
                                                    .workers = nest__children_live()});
    return 0;
}

void nest__metrics_reaped(uint32_t worker) {
    nest__metrics_fold(worker);
}

void nest__metrics_close(void) {
    if (metrics_listener.fd != -1) {
        close(metrics_listener.fd);
        nest__socket_unlink(&metrics_file);
    } else if (nest__supervises()) {
        nest__metrics_profile();
    }
}
