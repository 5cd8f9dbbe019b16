/* blocking.c: mail for the session of a worker that blocks.
 *
 * Called at join points by blocking/ and the engine. State: the session of the calling thread.
 * While an action runs, mail waits in the worker's socket, and senders are told when that is full.
 * Must not know what a message does. */
#include "mail.h"
#include "../../platform/platform.h"
#include "../../workers/mailbox.h"

#include <string.h>

enum { MAIL_DESCRIPTORS = 64 /* that a process has beside its mailboxes and its clients */ };

static _Thread_local nest_session *mail_own;       /* scope: worker. NULL: it has no session */
static _Thread_local struct nest__mail mail_taken; /* scope: worker. It is handed over */

/* Each worker inherits the sockets of all. */
int nest__mail_start(void) {
    uint32_t workers = nest__config.max_clients;
    uint64_t clients = workers / nest__worker_processes() * nest__session_descriptors(true);
    uint64_t need = nest__mailbox_descriptors(workers) + clients + MAIL_DESCRIPTORS;
    int error = nest__descriptors_budget(need, need);
    if (error == 0 && (error = nest__mailbox_prepare(workers)) != 0) {
        nest__say("cannot start: no mailboxes: %s", strerror(-error));
    }
    return error;
}

struct nest__need nest__mail_need(void) {
    return (struct nest__need){"a message from another worker", NULL, sizeof mail_taken,
                               sizeof mail_taken};
}

int nest__mail_mailbox(void) {
    return nest__mailbox_fd();
}

void nest__mail_open(nest_session *s) {
    nest__mailbox_begin(s->self.slot);
    mail_own = s;
}

void nest__mail_acted(nest_session *s, uint64_t taken) {
    (void)s, (void)taken;
}

void nest__mail_end(nest_session *s) {
    (void)s;
    mail_own = NULL;
}

bool nest__mail_alive(nest__ref ref) {
    return mail_own != NULL && mail_own->self.slot == ref.slot && mail_own->self.gen == ref.gen;
}

bool nest__mail_letter(nest_session **s) {
    *s = NULL;
    if (!nest__mailbox_take(&mail_taken)) {
        return false;
    }
    *s = mail_own;
    nest__on_mail(*s, mail_taken.kind, mail_taken.bytes, mail_taken.n);
    return true;
}

void nest__mail_nudge(uint32_t worker) {
    nest__mailbox_nudge(worker);
}
