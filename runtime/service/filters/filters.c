/* filters.c: starts cc-chain and its filters, starts them again when they die, and ends them.
 *
 * Called at join points, by the supervisor and by the listener. State: the supervisor's: cc-chain
 * and the sockets that lead to it. Must not know what filters do, nor who takes connections.
 *
 * cc-chain gets each listening socket and both ends of a pair, the hop. Workers send the ends of
 * their links into the hop, and the last filter reads them. The supervisor keeps the hop: filters
 * that are started again find what was sent meanwhile, and workers notice nothing but the end of
 * their links. In a stop the supervisor closes its copy of the filters' end, so that the hop hangs
 * up when the last filter has ended: from then on no client can come. */
#include "settings.h"
#include "returns.h"

#include "../../../conditioning/chain/inside.h"
#include "../../../conditioning/frame/counters.h"
#include "../../../conditioning/libcc/wire.h"
#include "../../listener/listener.h"
#include "../../platform/platform.h"
#include "../../workers/children.h"
#include "../user/user.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FILTERS_ANSWER_MS = 20 * 1000, /* for cc-chain's answer at the start of the server */
    FILTERS_WELL_MS = 10 * 1000,   /* one that ran as long did not die at once */
    FILTERS_QUEUE_MS = 10,         /* between two looks at the queues, in a stop */
    FILTERS_END_MS = 2000,         /* for cc-chain to end its filters */
    FILTERS_WRONG_CALL = 100       /* an exit status of cc-chain, which has said why */
};

/* scope: the supervisor. Other processes use only the hops. */
static struct {
    pid_t owner;
    pid_t pid;   /* of cc-chain; 0: it does not run */
    int control; /* the socket to it; it ends when this is closed */
    struct {
        int ours, theirs; /* theirs is -1 when the filters are told to end */
        int memory;       /* for their counts; -1: nobody reads them */
    } hops[NEST__LISTEN_MAX];
    uint64_t begun;
    uint32_t starts;
    struct nest__backoff backoff;
    unsigned told; /* how often it was told to end */
    bool refused;  /* no new client can come */
    unsigned owed; /* answers of cc-chain that have not been read */
    char texts[NEST__FILTERS_MOST][NEST__FILTER_TEXT]; /* with which it was started, or changed */
} filters = {.control = -1};

/* -- leases */

/* scope: process, shared by its threads; made once. A slot's leases are its session's own. */
static _Atomic(void *) filters_slab;
/* scope: thread; of the connection that it has taken last. */
static _Thread_local struct filters_leases {
    uint32_t n;
    uint32_t left; /* bytes of the first message that have not been received */
    int fds[NEST__LEASES_MOST];
} filters_taken;

static void filters_release(struct filters_leases *leases) {
    while (leases->n > 0) {
        close(leases->fds[--leases->n]);
    }
}

void nest__filters_leases(const int *leases, unsigned n, uint32_t message) {
    filters_release(&filters_taken);
    filters_taken.n = n;
    filters_taken.left = message;
    memcpy(filters_taken.fds, leases, n * sizeof *leases);
}

/* Without memory they are closed at once: to the filters the connection is over. */
void nest__filters_open(nest_session *s) {
    struct filters_leases *slab;
    if (filters_taken.n > 0 && (slab = nest__slab(&filters_slab, sizeof *slab)) != NULL) {
        slab[s->self.slot] = filters_taken;
        filters_taken.n = 0;
    }
    filters_release(&filters_taken);
}

void nest__filters_release(nest_session *s) {
    struct filters_leases *slab = atomic_load(&filters_slab);
    if (slab != NULL) {
        if (nest__goes_back(s) && (s->c0.state & (NEST__CHAN_GONE | NEST__CHAN_CUT)) == 0) {
            nest__write(slab[s->self.slot].fds[nest__spec_filter_returns], "K", 1);
        }
        filters_release(&slab[s->self.slot]);
    }
}

/* -- connections that go back (NEST__RETURNS) */

/* The leases of a session that has one of each filter that gives any; NULL: one is missing. Then
 * persist may not have kept the connection. */
static struct filters_leases *filters_of(const nest_session *s) {
    struct filters_leases *slab = atomic_load(&filters_slab);
    bool all = slab != NULL && slab[s->self.slot].n == nest__spec_filter_leases;
    return all ? &slab[s->self.slot] : NULL;
}

uint32_t nest__filters_room(const nest_session *s, uint32_t room) {
    const struct filters_leases *leases = filters_of(s);
    uint32_t left = leases == NULL ? 0 : leases->left;
    return left > 0 && left < room ? left : room;
}

void nest__filters_received(const nest_session *s, uint32_t n) {
    struct filters_leases *leases = filters_of(s);
    if (leases != NULL) {
        leases->left -= n < leases->left ? n : leases->left;
    }
}

/* A pipe has an error when its reader has died. */
bool nest__filters_wait(const nest_session *s) {
    const struct filters_leases *leases = filters_of(s);
    if (leases == NULL) {
        return false;
    }
    return nest__poll_now(leases->fds[nest__spec_filter_returns], 0) == 0;
}

/* Besides leases, a thread that has a client has its link. */
unsigned nest__filters_descriptors(bool most) {
    unsigned links = nest__worker_threads() > 1;
    return most ? links + NEST__LEASES_MOST : links + nest__spec_filter_leases;
}

/* -- cc-chain */

/* In a child. Returns its exit status. */
static int filters_chain(const char *how, const char *value) {
    static char restarts[16];
    char *argv[NEST__FILTERS_MOST + 11] = {"cc-chain", "--peek",  "--follow", "--restarts",
                                           restarts,   "--drain", "1000000"};
    int n = 7;
    snprintf(restarts, sizeof restarts, "%u", (unsigned)filters.starts);
    if (NEST__RETURNS) {
        argv[n++] = "--returns";
    }
    argv[n++] = (char *)how;
    if (value != NULL) {
        argv[n++] = (char *)value;
    }
    for (unsigned i = 0; i < nest__spec_filter_count && i < NEST__FILTERS_MOST; i++) {
        nest__filters_text(i, filters.texts[i]);
        argv[n++] = filters.texts[i];
    }
    argv[n] = NULL;
    return ccc__main(n, argv);
}

static int filters_judge(void) {
    int status = filters_chain("--check", NULL);
    return status < 0 || status > FILTERS_WRONG_CALL ? -FILTERS_WRONG_CALL : -status;
}

int nest__filters_check(void) {
    bool began;
    int error = nest__try_in_child(filters_judge, &began);
    if (!began) {
        nest__say("cannot start the filters: %s", strerror(-error));
    }
    return error;
}

/* The child has no descriptor of the server but its end of the control socket. Its own session
 * keeps the signals of a terminal away: the supervisor says when filters end. */
static _Noreturn void filters_main(int control) {
    nest__child_release();
    setsid();
    prctl(PR_SET_NAME, "cc-chain");
    if (nest__user_serve() != 0 || dup2(control, 3) == -1) {
        _exit(EXIT_FAILURE);
    }
    cc__close_from(4, INT_MAX);
    _exit(filters_chain("--serve", "3"));
}

static void filters_lost(void) {
    filters.pid = 0;
    close(filters.control);
    filters.control = -1;
}

/* Gives cc-chain a listening socket, its hop, and memory for counts if there is any. */
static int filters_give(unsigned listener) {
    struct cc__head head = cc__head_of(CC__LISTEN);
    int fds[4] = {nest__listeners[listener].fd, filters.hops[listener].theirs,
                  filters.hops[listener].ours, filters.hops[listener].memory};
    return cc__send(filters.control, &head, NULL, 0, fds, fds[3] == -1 ? 3 : 4, MSG_DONTWAIT);
}

/* The settings of now are those with which cc-chain runs. Whether they were not before. */
static bool filters_renew(void) {
    char text[NEST__FILTER_TEXT];
    bool changed = false;
    for (unsigned i = 0; i < nest__spec_filter_count && i < NEST__FILTERS_MOST; i++) {
        nest__filters_text(i, text);
        changed = changed || strcmp(text, filters.texts[i]) != 0;
        memcpy(filters.texts[i], text, sizeof text);
    }
    return changed;
}

/* 0 or -errno. The listeners are given, but the answers are not awaited. */
static int filters_start(void) {
    int pair[2];
    int error = cc__pair(pair);
    if (error != 0) {
        return error;
    }
    fflush(NULL); /* or the child writes it as well */
    filters.pid = fork();
    if (filters.pid == 0) {
        filters_main(pair[1]);
    }
    close(pair[1]);
    filters.control = pair[0];
    filters.begun = nest__clock_ms();
    filters.starts++;
    filters.owed = 0;
    (void)filters_renew();
    if (filters.pid == -1) {
        error = -errno;
        filters_lost();
        return error;
    }
    for (unsigned i = 0; error == 0 && i < nest__listener_count; i++) {
        error = filters_give(i);
        filters.owed += error == 0;
    }
    return error;
}

/* An answer of cc-chain. 0 or -errno; -EPIPE: it has ended. */
static int filters_answer(void) {
    struct cc__message reply = {.bytes = NULL};
    if (nest__poll_until(filters.control, POLLIN, nest__clock_ms() + FILTERS_ANSWER_MS) == 0) {
        return -ETIMEDOUT;
    }
    int got = cc__receive(filters.control, &reply, MSG_DONTWAIT);
    if (got == 1) {
        filters.owed--;
        return reply.head.type == CC__REPLY ? -(int)reply.head.demand : -EPROTO;
    }
    return -EPIPE;
}

/* Why it has ended at the start of the server: -errno; -ECHILD: it has said why. */
static int filters_failed(void) {
    int status;
    if (waitpid(filters.pid, &status, 0) != filters.pid) {
        return -errno;
    }
    filters.pid = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == FILTERS_WRONG_CALL ? -ECHILD : -EPIPE;
}

int nest__filters_begin(void) {
    int error = 0;
    filters.owner = getpid();
    for (unsigned i = 0; i < NEST__LISTEN_MAX; i++) {
        filters.hops[i].ours = filters.hops[i].theirs = filters.hops[i].memory = -1;
    }
    for (unsigned i = 0; error == 0 && i < nest__listener_count; i++) {
        int pair[2];
        error = cc__pair(pair);
        if (error == 0) {
            filters.hops[i].ours = pair[0];
            filters.hops[i].theirs = pair[1];
            filters.hops[i].memory = nest__filters_count(i);
            error = filters.hops[i].memory < -1 ? filters.hops[i].memory : 0;
        }
    }
    if (nest__listener_count > 0) {
        error = error == 0 ? filters_start() : error;
        for (unsigned i = 0; error == 0 && i < nest__listener_count; i++) {
            error = filters_answer();
        }
        error = error == -EPIPE && filters.pid > 0 ? filters_failed() : error;
    }
    if (error != 0 && error != -ECHILD) {
        nest__say("cannot start the filters: %s", strerror(-error));
    }
    return error;
}

int nest__filters_hop(unsigned listener) {
    return filters.hops[listener].ours;
}

/* A process that is no supervisor has neither the filters' ends nor listening sockets: workers take
 * connections from filters only. */
int nest__filters_serve(void) {
    for (unsigned i = 0; i < NEST__LISTEN_MAX; i++) {
        close(filters.hops[i].theirs);
        close(filters.hops[i].memory);
    }
    for (unsigned i = 0; i < nest__listener_count; i++) {
        close(nest__listeners[i].fd);
        nest__listeners[i].fd = -1;
    }
    close(filters.control);
    return 0;
}

/* -- the life of the filters, in the supervisor */

/* Gives cc-chain other filters: it starts them, and those before drain. 0, or -errno; then it goes
 * on with those before. */
static int filters_change(void) {
    static char text[NEST__FILTERS_MOST * (NEST__FILTER_TEXT + 1)];
    struct cc__head head = cc__head_of(CC__CHAIN);
    struct nest__line line = {text, 0, sizeof text - 1};
    for (unsigned i = 0; i < nest__spec_filter_count && i < NEST__FILTERS_MOST; i++) {
        nest__line_add(&line, i > 0 ? " " : "");
        nest__line_add(&line, filters.texts[i]);
    }
    head.length = (uint32_t)line.n;
    int error = line.n > CC__INLINE
                    ? -E2BIG
                    : cc__send(filters.control, &head, text, line.n, NULL, 0, MSG_DONTWAIT);
    filters.owed += error == 0;
    while (error == 0 && filters.owed > 0) { /* what it was given before is answered before */
        error = filters_answer();
    }
    return error;
}

/* Settings that the filters refuse, or that cannot be used now, are not used. A cc-chain that does
 * not run, or dies meanwhile, is started with the new ones. */
void nest__filters_reloaded(void) {
    bool began;
    if (filters.owner != getpid() || filters.told > 0 || nest__phase() != NEST__SERVING ||
        !filters_renew()) {
        return;
    }
    fflush(NULL); /* or the child writes it as well */
    int error = nest__try_in_child(filters_judge, &began);
    if (error == 0 && filters.pid != 0) {
        error = filters_change();
        if (error == -EPIPE || error == -ECONNRESET) {
            error = 0;
        } else if (error == -EBUSY) {
            nest__say("cannot change the filters: those that the last %d changes replaced still "
                      "have clients; send HUP again when they have left",
                      CCF__CHAINS - 1);
        } else if (error != 0) {
            nest__say("cannot change the filters: %s", strerror(-error));
        }
    } else if (error != 0 && !began) {
        nest__say("cannot change the filters: %s", strerror(-error));
    }
    if (error != 0) { /* filters have said why */
        nest__filters_refuse();
        (void)filters_renew();
    }
}

bool nest__filters_reaped(pid_t pid, int status) {
    char end[64];
    if (pid != filters.pid) {
        return false;
    }
    filters_lost();
    if (nest__clock_ms() - filters.begun >= FILTERS_WELL_MS) {
        filters.backoff.failures = 0;
    }
    uint32_t delay = nest__backoff_more(&filters.backoff);
    if (filters.told == 0) {
        nest__exit_text(status, end);
        nest__say("the process of the filters %ld %s; it is replaced in %u ms", (long)pid, end,
                  (unsigned)delay);
    }
    return true;
}

/* ms until the next try; 0: it runs. */
static unsigned filters_again(void) {
    int left = filters.pid != 0 ? 0 : nest__backoff_left(&filters.backoff);
    if (filters.pid != 0 || left > 0) {
        return (unsigned)left;
    }
    int error = filters_start();
    if (error != 0 && filters.pid == 0) {
        nest__say("cannot start the filters: %s", strerror(-error));
        return nest__backoff_more(&filters.backoff);
    }
    return 0;
}

/* Clients that connected before the stop are still served, but for those of a socket that the next
 * server inherits. */
static bool filters_queued(void) {
    bool queued = false;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        int queue = nest__listeners[i].fd;
        if (!filters.refused && !nest__listeners[i].given) {
            if (nest__listeners[i].kind == NEST__UNIX) {
                nest__listener_unlink(i);
            } else {
                nest__connections_refuse(queue);
            }
        }
        queued = queued || (!nest__listeners[i].given && nest__poll_now(queue, POLLIN) != 0);
    }
    if (!filters.refused) {
        nest__notify("STOPPING=1");
    }
    filters.refused = true;
    return queued;
}

/* The first time: it ends when its filters have passed on what they hold. The second time, by
 * another signal, because two of one number may arrive as one: it ends them. */
static void filters_tell(void) {
    for (unsigned i = 0; i < NEST__LISTEN_MAX && filters.told == 0; i++) {
        close(filters.hops[i].theirs);
        filters.hops[i].theirs = -1;
    }
    if (filters.pid != 0) {
        kill(filters.pid, filters.told == 0 ? SIGTERM : SIGINT);
    }
    filters.told++;
}

unsigned nest__filters_mind(void) {
    enum nest__stop_phase phase = nest__phase();
    if (phase == NEST__SERVING) {
        return filters_again();
    }
    if (filters.told == 0 && filters_queued() && phase < NEST__CUTTING) {
        unsigned left = filters_again();
        return left > 0 && left < FILTERS_QUEUE_MS ? left : FILTERS_QUEUE_MS;
    }
    while (filters.told < (phase >= NEST__CUTTING ? 2 : 1)) {
        filters_tell();
    }
    return 0;
}

void nest__filters_end(void) {
    int status;
    if (filters.owner != getpid()) {
        return;
    }
    while (filters.told < 2) {
        filters_tell();
    }
    uint64_t end = nest__clock_ms() + FILTERS_END_MS;
    while (filters.pid != 0 && waitpid(filters.pid, &status, WNOHANG) == 0) {
        if (nest__clock_ms() >= end) {
            kill(filters.pid, SIGKILL);
        }
        (void)poll(NULL, 0, 1);
    }
    if (filters.pid != 0) {
        filters_lost();
    }
    for (unsigned i = 0; i < NEST__LISTEN_MAX; i++) {
        close(filters.hops[i].ours);
        close(filters.hops[i].memory);
    }
}
