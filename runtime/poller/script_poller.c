/* script_poller.c: a poller whose completions come from commands, in virtual time.
 *
 * See poller.h. State: of this process's loop: which clients have something to tell, who waits to
 * be taken. Must not know the language, nor what a session does. Operations complete at once. What
 * is lent to the engine is scribbled over as soon as the lease ends, so that a use of it shows. */
#include "../listener/listener.h"
#include "../loop/helpers.h"
#include "../platform/platform.h"
#include "direct.h"
#include "script.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

uint32_t script_now = UINT32_MAX - 5000; /* the time's wrap is near: it must not matter */
uint32_t script_opened, script_taken;
int script_short;

static struct {
    struct script_client *touched, *last; /* first touched, first told */
    int64_t request;                      /* to stop, to reload; 0: none */
    uint32_t alarm;                       /* 0: none */
    uint32_t lent;                        /* bytes of the buffer in use */
    bool armed, stopped, retired;
    bool wake, ring; /* a job is done, the alarm rings: told once */
    bool mailed;     /* mail has come: told once */
    bool asked;      /* for a delayed operation: */
    uint32_t which;
    uint64_t most;
    bool told; /* since the sleep: a client can be taken */
} poll_state;

uint32_t nest__now(void) {
    return script_now;
}

uint32_t nest__clock(void) {
    return script_now;
}

uint32_t nest__lease(void) {
    return sizeof nest__direct_buffer;
}

/* -- channels */

void script_touch(struct script_client *client) {
    if (!client->touched) {
        client->touched = true;
        client->next = NULL;
        if (poll_state.touched == NULL) {
            poll_state.touched = client;
        } else {
            poll_state.last->next = client;
        }
        poll_state.last = client;
    }
}

void script_untouch(const struct script_client *client) {
    struct script_client **at = &poll_state.touched, *before = NULL;
    if (client->touched) {
        while (*at != client) {
            before = *at;
            at = &(*at)->next;
        }
        *at = client->next;
        poll_state.last = poll_state.last == client ? before : poll_state.last;
    }
}

static struct script_client *poller_touched(void) {
    struct script_client *client = poll_state.touched;
    if (client != NULL) {
        poll_state.touched = client->next;
        client->touched = false;
    }
    return client;
}

nest_session *script_session(uint32_t who) {
    const struct script_client *client = script_client(who);
    return client == NULL || client->slot == NEST__NO_SLOT ? NULL : nest__slot_at(client->slot);
}

/* Its client, which learns who serves it. */
static struct script_client *poller_client(const nest_session *s, struct nest__chan *chan) {
    struct script_client *client = script_client_of(chan);
    client->slot = s->self.slot;
    client->chan = chan;
    return client;
}

bool nest__poller_await(nest_session *s, struct nest__chan *chan, enum nest__await what) {
    if (what != NEST__AWAIT_NOTHING && chan->io == 0) { /* the first time takes memory */
        if (script_watch_fails()) {
            return false;
        }
        chan->io = 1;
    }
    chan->awaits = what;
    script_touch(poller_client(s, chan));
    return true;
}

void script_lent(const struct nest__window *window) {
    poll_state.lent = window->lent ? window->n : 0;
}

int64_t nest__poller_receive(nest_session *s, struct nest__chan *chan,
                             struct nest__window *window) {
    if (script_later) {
        return -EAGAIN;
    }
    int64_t n = nest__direct_receive(s, chan, window);
    if (n > 0) {
        script_lent(window);
    }
    return n;
}

int nest__push(nest_session *s, struct nest__chan *chan) {
    bool later = script_later || poller_client(s, chan)->pieces > 0;
    return later ? script_later_push(s, chan) : nest__direct_push(s, chan);
}

int64_t nest__send_file(nest_session *s, struct nest__chan *chan, int fd, uint64_t at, uint64_t n) {
    (void)s;
    return nest__direct_send_file(chan, fd, at, n);
}

/* What the channel awaits, if it has come. */
static bool poller_complete(struct script_client *client, struct nest__completion *done) {
    nest_session *s = client->slot == NEST__NO_SLOT ? NULL : nest__slot_at(client->slot);
    if (s == NULL) {
        return false;
    }
    if (client->closing || client->pieces > 0) { /* began when operations were delayed */
        return script_later_finish(client, UINT64_MAX, done);
    }
    struct nest__chan *chan = client->chan;
    if ((s->flags & NEST__READY) != 0 && chan == nest__served(s)) {
        return false;
    }
    switch ((enum nest__await)chan->awaits) {
    case NEST__AWAIT_INPUT:
        done->name = nest__name_of(s, chan, NEST__OP_RECEIVE);
        done->result = nest__direct_receive(s, chan, &done->window);
        if (done->result > 0) {
            script_lent(&done->window);
        }
        if (NEST__CHAN_LAYERS && done->result == -EAGAIN && nest__chan_eager(chan)) {
            script_touch(client);
        }
        return done->result != -EAGAIN;
    case NEST__AWAIT_OUTPUT:
        done->name = nest__name_of(s, chan, NEST__OP_SEND);
        done->result = client->reset ? -ECONNRESET : 0;
        return client->reset || client->room > 0;
    case NEST__AWAIT_BOTH:
        return nest__direct_both(s, chan, client->room > 0 ? POLLIN | POLLOUT : POLLIN, done);
    case NEST__AWAIT_READY:
        done->name = nest__name_of(s, chan, NEST__OP_SEND);
        done->result = client->reset ? -ECONNRESET : 0;
        return script_readable(client);
    case NEST__AWAIT_ERRORS:
        done->name = nest__name_of(s, chan, NEST__OP_WATCH);
        done->result = -ECONNRESET;
        return script_minds(client);
    case NEST__AWAIT_LEFT: /* of pipes of the kernel */
    case NEST__AWAIT_LEFT_BOTH:
    case NEST__AWAIT_NOTHING:
        break;
    }
    return false;
}

bool nest__poller_pending(const nest_session *s, const struct nest__chan *chan) {
    (void)s, (void)chan;
    return false; /* all that has come was told before the time went on */
}

bool nest__poller_close(nest_session *s, struct nest__chan *chan) {
    struct script_client *client = poller_client(s, chan);
    chan->awaits = NEST__AWAIT_NOTHING;
    if (script_later) {
        client->closing = true;
        return false;
    }
    if (client->pieces > 0) { /* cancelled */
        client->pieces = 0;
        nest__out_sent(s, chan, 0);
    }
    nest__chan_close(chan);
    return true;
}

/* -- new clients */

/* Where memory is short, there is none to arm a listener either. */
int nest__poller_arm(bool on) {
    int error = on && script_short == -ENOMEM ? -ENOMEM : 0;
    poll_state.armed = on && error == 0;
    return error;
}

void nest__poller_retire(unsigned listener) {
    (void)listener;
    poll_state.retired = true;
}

bool nest__listen_stop(void) {
    poll_state.stopped = true;
    return script_taken == script_opened;
}

int nest__take(struct nest__listener *listener, struct nest__arrival *arrival, bool nonblocking) {
    (void)listener, (void)nonblocking;
    poll_state.told = false;
    if (script_taken == script_opened) {
        return poll_state.stopped ? -EINVAL : -EAGAIN;
    }
    if (script_short == 0) {
        script_taken++;
        *arrival = (struct nest__arrival){.fd = (int)script_taken, .kind = NEST__SCRIPT};
    }
    return script_short;
}

bool script_accepts(void) {
    return poll_state.armed &&
           (script_taken < script_opened || (poll_state.stopped && !poll_state.retired));
}

uint32_t nest__poller_completed(void) {
    return script_later ? 0 : script_opened - script_taken;
}

uint32_t nest__poller_clients(void) {
    return 0; /* an operation of a session completes when the loop looks for it */
}

/* -- completions */

void script_request(int64_t count) {
    poll_state.request += count;
}

void script_mailed(void) {
    poll_state.mailed = true;
}

void script_ask(uint32_t which, uint64_t most) {
    poll_state.asked = true;
    poll_state.which = which;
    poll_state.most = most;
}

void nest__poller_step(void) {
    memset(nest__direct_buffer, 0xa5, poll_state.lent);
    poll_state.lent = 0;
}

bool nest__poller_next(struct nest__completion *done) {
    struct script_client *client;
    done->result = 0;
    if (poll_state.request != 0) {
        done->name = nest__name_of_loop(NEST__OP_SIGNAL, 0);
        done->result = poll_state.request;
        poll_state.request = 0;
        return true;
    }
    if (poll_state.mailed) {
        done->name = nest__name_of_loop(NEST__OP_MAIL, 0);
        poll_state.mailed = false;
        return true;
    }
    if (poll_state.asked) {
        poll_state.asked = false;
        if (script_later_complete(poll_state.which, poll_state.most, done)) {
            return true;
        }
    }
    if (!script_later && !poll_state.told && script_accepts()) {
        poll_state.told = true;
        done->name = nest__name_of_loop(NEST__OP_ACCEPT, 0);
        return true;
    }
    while (!script_later && (client = poller_touched()) != NULL) {
        if (poller_complete(client, done)) {
            return true;
        }
    }
    if (poll_state.wake || poll_state.ring) {
        done->name = nest__name_of_loop(poll_state.wake ? NEST__OP_WAKE : NEST__OP_ALARM, 0);
        poll_state.ring = poll_state.ring && poll_state.wake;
        poll_state.wake = false;
        return true;
    }
    return false;
}

void nest__poller_alarm(uint32_t due) {
    poll_state.alarm = due;
}

uint32_t script_next_time(void) {
    uint32_t job = script_job_next(), alarm = poll_state.alarm;
    return job == 0 || (alarm != 0 && (int32_t)(alarm - job) < 0) ? alarm : job;
}

void nest__poller_sleep(bool look) {
    uint32_t job = script_job_next();
    poll_state.told = false;
    if (!script_later && (poll_state.touched != NULL || script_accepts())) {
        return;
    }
    poll_state.wake = job != 0 && nest__reached(job, script_now);
    if (!poll_state.wake && poll_state.alarm != 0 && nest__reached(poll_state.alarm, script_now)) {
        poll_state.alarm = 0;
        poll_state.ring = true;
    }
    if (!poll_state.wake && !poll_state.ring && !look) {
        script_step();
    }
}

/* -- the beginning, and the end */

/* Services keep something for each of maxClients: a script's limit is another. */
int nest__poller_prepare(uint32_t *most) {
    nest__config.max_clients = *most = SCRIPT_CLIENTS;
    (void)nest__on_spare(UINT64_MAX);
    return 0;
}

unsigned nest__poller_needs(struct nest__need needs[]) {
    (void)needs;
    return 0;
}

int nest__poller_start(void) {
    nest__slots_prefer_new(true); /* so that nest_id is the number of the conversation */
    return nest__helpers_prepare();
}

bool nest__poller_listens(void) {
    return true;
}

bool nest__poller_over(bool idle) {
    (void)idle;
    return script_ended();
}

int nest__poller_status(void) {
    return script_status;
}
