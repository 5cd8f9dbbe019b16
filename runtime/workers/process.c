/* process.c: a process for each connection: what it needs, and how the server begins.
 *
 * Called by main. No state. Who is forked when is in spares.c, what a process does in worker.c. */
#include "process.h"
#include "../engine/engine.h"
#include "../platform/platform.h"

#include <errno.h>

enum { PROCESS_DESCRIPTORS = 16 /* beside the listeners: a connection, libraries */ };

unsigned nest__worker_needs(struct nest__need needs[NEST__NEEDS]) {
    uint64_t process = 256 * 1024; /* about */
    uint64_t scratch = sizeof(struct nest__worker), buffer = nest__receive_capacity();
    needs[0] = (struct nest__need){"room for matching", NULL, scratch, scratch};
    needs[1] = (struct nest__need){"receive buffer", "inputBuffer", buffer, buffer};
    needs[2] = (struct nest__need){"stack and other pages of its process, about", NULL, process, 0};
    return 3;
}

uint32_t nest__worker_threads(void) {
    return 1;
}

uint32_t nest__worker_processes(void) {
    return nest__config.max_clients;
}

int nest__workers_prepare(void) {
    int error = nest__threads_budget(nest__config.max_clients, "process");
    if (error == 0) {
        uint64_t need = NEST__LISTEN_MAX + PROCESS_DESCRIPTORS;
        error = nest__descriptors_budget(need, need);
    }
    if (error == 0 && nest__worker_prepare() != 0) {
        nest__say("no memory for %u clients; lower maxClients or inputBuffer",
                  (unsigned)nest__config.max_clients);
        error = -ENOMEM;
    }
    if (error == 0 && (error = nest__supervisor_prepare(nest__config.max_clients)) == 0) {
        nest__watch = &nest__process_orders()->watch;
    }
    return error;
}

int nest__workers_run(void) {
    return nest__supervise();
}
