/* blocking.c: mail for the session of a worker that blocks.
 *
 * Called at join points by blocking/ and the engine, and by services that send. State: the session
 * of the calling thread; for each worker how much mail waits, in memory that all workers write.
 * While an action runs, or output waits for the client, mail waits in the worker's socket. The
 * counts are only estimates, because a sender may die between sending and counting: a worker that
 * finds its socket empty begins from 0. Must not know what a message does. */
#include "mail.h"
#include "../../platform/platform.h"
#include "../../workers/mailbox.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum {
    MAIL_DESCRIPTORS = 64, /* that a process has beside its mailboxes and its clients */
    MAIL_TRIES = 16        /* others may fill the mailbox again */
};

struct mail_meter {          /* of a worker */
    _Atomic int64_t waits;   /* bytes */
    _Atomic uint64_t behind; /* the generation of a session that is behind, plus 1 */
};

static struct mail_meter *mail_meters;             /* scope: server */
static _Thread_local nest_session *mail_own;       /* scope: worker. NULL: it has no session */
static _Thread_local struct nest__mail mail_taken; /* scope: worker. It is handed over */

/* Each worker inherits the sockets of all. */
int nest__mail_start(void) {
    uint32_t workers = nest__config.max_clients;
    uint64_t clients = workers / nest__worker_processes() * nest__session_descriptors(true);
    uint64_t need = nest__mailbox_descriptors(workers) + clients + MAIL_DESCRIPTORS;
    int error = nest__descriptors_budget(need, need);
    void *meters = mmap(NULL, workers * sizeof *mail_meters, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (error != 0) {
        return error;
    }
    mail_meters = meters;
    error = meters == MAP_FAILED ? -ENOMEM : nest__mailbox_prepare(workers);
    if (error != 0) {
        nest__say("cannot start: no mailboxes: %s", strerror(-error));
    }
    return error;
}

struct nest__need nest__mail_need(void) {
    return (struct nest__need){"a message from another worker", NULL, sizeof mail_taken,
                               sizeof mail_taken};
}

/* Each session's thread has a mailbox of its own, and sending needs none. */
int nest__mail_serve(void) {
    return 0;
}

int nest__mail_mailbox(void) {
    return nest__mailbox_fd();
}

/* Another process may have had a session with the same slot and generation. */
void nest__mail_open(nest_session *s) {
    nest__mailbox_begin(s->self.slot);
    atomic_store(&mail_meters[s->self.slot].waits, 0);
    atomic_store(&mail_meters[s->self.slot].behind, 0);
    mail_own = s;
}

void nest__mail_acted(nest_session *s, uint64_t taken) {
    (void)s, (void)taken;
}

void nest__mail_drained(nest_session *s) {
    (void)s;
}

void nest__mail_end(nest_session *s) {
    (void)s;
    mail_own = NULL;
}

bool nest__mail_alive(nest__ref ref) {
    return mail_own != NULL && mail_own->self.slot == ref.slot && mail_own->self.gen == ref.gen;
}

bool nest__mail_letter(nest_session **s) {
    struct mail_meter *meter = &mail_meters[mail_own->self.slot];
    bool behind = atomic_load(&meter->behind) == (uint64_t)mail_own->self.gen + 1;
    *s = NULL;
    if (!behind && !nest__mailbox_take(&mail_taken)) {
        atomic_store(&meter->waits, 0);
        return false;
    }
    *s = mail_own;
    if (behind) {
        nest__mail_behind(*s);
    } else {
        atomic_fetch_sub(&meter->waits, (int64_t)mail_taken.n + NEST__MAIL_RECORD);
        nest__on_mail(*s, mail_taken.kind, mail_taken.bytes, mail_taken.n);
    }
    return true;
}

/* Whether `n` bytes more would be too many. */
static bool mail_full(struct mail_meter *meter, int64_t n) {
    int64_t waits = atomic_load(&meter->waits);
    return waits > 0 && waits + n > (int64_t)nest__config.output_buffer;
}

/* The receiver loses its oldest message. False: it has none. */
static bool mail_shift(uint32_t worker, struct mail_meter *meter) {
    int64_t n = nest__mailbox_shift(worker);
    if (n >= 0) {
        atomic_fetch_sub(&meter->waits, n + NEST__MAIL_RECORD);
    } else {
        atomic_store(&meter->waits, 0);
    }
    return n >= 0;
}

int nest__mail_press(uint16_t serial, nest__ref to, uint32_t kind, const void *bytes, uint32_t n) {
    struct mail_meter *meter = &mail_meters[to.slot];
    int64_t counts = (int64_t)n + NEST__MAIL_RECORD;
    int error = -EAGAIN;
    for (int tries = 0; error == -EAGAIN && tries < MAIL_TRIES; tries++) {
        if (!mail_full(meter, counts)) {
            error = nest__mail_send(serial, to, kind, bytes, n);
        }
        if (error == 0) {
            atomic_fetch_add(&meter->waits, counts);
        } else if (error == -EAGAIN && NEST__LOSSY) {
            (void)mail_shift(to.slot, meter);
        } else if (error == -EAGAIN) {
            atomic_store(&meter->behind, (uint64_t)to.gen + 1);
            nest__mailbox_nudge(to.slot);
            error = 0;
        }
    }
    return error;
}

void nest__mail_nudge(uint32_t worker) {
    nest__mailbox_nudge(worker);
}
