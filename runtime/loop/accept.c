/* accept.c: new clients are accepted while there is room for them, and become sessions.
 *
 * See accept.h. State: of this process's loop. When descriptors run short listeners rest until a
 * session is released; where memory is short that is no help, and they rest their time. Must not
 * know where connections come from, nor how listeners are armed. */
#include "accept.h"
#include "../channel/channel.h"
#include "loop.h"
#include "ready.h"
#include "shake.h"
#include "share.h"
#include "wheel.h"

#include <errno.h>

enum {
    ACCEPT_PAUSE_MS = 1000,
    ACCEPT_TOGETHER = 1024, /* in a row, of one completion; */
    ACCEPT_ROW_US = 4000    /* after that time the row ends: others wait */
};

struct nest__accept nest__accept;
static _Atomic uint32_t accept_said;

void nest__accept_open(bool on) {
    struct nest__accept *accept = &nest__accept;
    if (on && (accept->scarce || accept->done || (accept->over && !nest__stopping()))) {
        return;
    }
    /* An empty queue is never reported: during a stop it is looked for. */
    accept->done = accept->done || (on && nest__stopping() && nest__listen_stop());
    on = on && !accept->done && nest__share_listens();
    if (on == accept->open) {
        return;
    }
    accept->open = on;
    int error = on ? nest__listen_arm(true) : 0;
    if (error == 0) {
        error = nest__poller_arm(on);
    }
    if (!on) {
        (void)nest__listen_arm(false);
    } else if (error < 0) { /* all or none */
        nest__accept_pause(error);
    }
}

/* Whether new clients have to wait, as services say. */
static void accept_over(bool over) {
    if (over != nest__accept.over) {
        nest__accept.over = over;
        nest__share_overloaded(over);
        nest__accept_open(!over || nest__stopping());
    }
}

unsigned nest__accept_turn(unsigned i, unsigned n) {
    return (nest__accept.first + i) % n;
}

void nest__accept_load(uint32_t actions) {
    accept_over(nest__on_load(actions));
}

void nest__accept_pause(int error) {
    nest__accept_open(false);
    nest__due_after(NEST__DUE_RETRY, ACCEPT_PAUSE_MS);
    if (error == -ENOMEM || error == -ENOBUFS) {
        nest__accept.scarce = true;
    }
    nest__scarce(&accept_said, error);
}

void nest__accept_resume(void) {
    nest__accept.scarce = false;
    nest__share_insist();
    nest__accept_open(true);
}

/* The client that waits there gets a slot. NULL: none is accepted; *error: why, 0: no slot. */
static nest_session *accept_take(struct nest__listener *listener, struct nest__arrival *arrival,
                                 int *error) {
    nest_session *s = nest__slot_take();
    *error = 0;
    if (s == NULL) {
        nest__accept_open(false);
        return NULL;
    }
    if (!nest__share_take()) {
        nest__slot_give(s, false);
        nest__accept_open(true); /* listens no more, unless it may by now */
        if (nest__share_yields()) {
            nest__due_after(NEST__DUE_RETRY, NEST__SHARE_MS);
        }
        return NULL;
    }
    *error = nest__accept.open ? nest__take(listener, arrival, true) : -EAGAIN;
    if (*error == 0) {
        return s;
    }
    nest__share_give();
    nest__slot_give(s, false);
    if (*error == -EMFILE || *error == -ENFILE || *error == -ENOMEM || *error == -ENOBUFS) {
        nest__accept_pause(*error);
    }
    return NULL;
}

/* Its stages begin before START. False: there is no memory for them, and its connection is closed.
 */
static bool accept_stages(nest_session *s, const struct nest__arrival *arrival) {
    s->c0 = (struct nest__chan){.fd = arrival->fd, .kind = arrival->kind, .io = arrival->io};
    if (nest__chan_dress(&s->c0) < 0) {
        s->work = NULL;
        s->channels = 0;
        s->flags = 0;
        s->phase = NEST__ENDED;
        nest__accept_pause(-ENOMEM);
        nest__end_release(s, &s->c0);
        return false;
    }
    return true;
}

void nest__accept_session(nest_session *s, const struct nest__arrival *arrival) {
    struct nest__window none = {NULL, 0, false};
    if (NEST__CHAN_STAGES && !accept_stages(s, arrival)) {
        return;
    }
    nest__ready_arrives(s, arrival->listener);
    unsigned want = nest__open(s, arrival);
    if ((want & (NEST__WANT_END | NEST__WANT_AGAIN)) != 0) {
        nest__visit_settle(s, &s->c0, want, &none);
    } else {
        /* Tried at once: what was sent with the connection is often there. */
        nest__visit_receive(s, &s->c0);
    }
}

static void accept_begin(nest_session *s, const struct nest__arrival *arrival) {
    nest__loop.due[NEST__DUE_IDLE_EXIT] = 0;
    nest__wheel_new(&s->until);
    if (!NEST__TLS || !nest__shake_begin(s, arrival)) {
        nest__accept_session(s, arrival);
    }
}

bool nest__accept_listener(unsigned index) {
    struct nest__loop *loop = &nest__loop;
    struct nest__arrival arrival = {0};
    uint32_t taken = loop->accepts;
    int error;
    loop->accepts = 0;
    loop->accepting = 0;
    if (nest__on_enough()) {
        accept_over(true);
    }
    nest_session *s = accept_take(&nest__listeners[index], &arrival, &error);
    if (s != NULL) {
        nest__accept.first = index + 1;
        nest__accept_open(true);
        /* Alone, a second try would most likely be in vain; in a crowd it saves asking for
         * completions. */
        bool crowd =
            nest__poller_completed() > 1 && taken < ACCEPT_TOGETHER && !nest__ready_paces();
        if (crowd && taken == 0) {
            loop->row = nest__clock_us();
        }
        accept_begin(s, &arrival);
        if (crowd && nest__accept.open && nest__clock_us() - loop->row < ACCEPT_ROW_US) {
            loop->accepts = taken + 1;
            loop->accepting = index + 1;
        }
        return true;
    }
    if (error == -EINVAL) { /* during a stop: no client waits in this queue any more */
        nest__poller_retire(index);
        if (nest__listen_stop()) {
            nest__accept_open(false);
            nest__accept.done = true;
        }
    } else if (error == -ESHUTDOWN) {
        nest__accept_open(false); /* closes the links to filters, */
        nest__accept_open(true);  /* and makes others */
    }
    return false;
}

void nest__accept_reload(void) {
    bool leaves = !nest__share_reload();
    if (leaves != nest__accept.done && !nest__stopping() && nest__poller_listens()) {
        nest__accept.done = leaves;
        nest__accept_open(!leaves);
    }
}

void nest__accept_only(void) {
    struct nest__arrival arrival = {0};
    nest_session *s = nest__take_only(&arrival, true) ? nest__slot_take() : NULL;
    nest__accept.done = true;
    if (s != NULL) {
        (void)nest__share_take();
        accept_begin(s, &arrival);
    }
}
