/* Starts the filters of a chain (start.c), restarts those that die, and stops them.
 *
 * cc-chain keeps the hops between filters open. So a restarted filter finds its hops as its
 * predecessor left them, and its neighbours announce new links. Must not know: what filters do. */
#define _GNU_SOURCE
#include "chain.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* In ms. A filter that dies within STEADY died quickly. From the second time on the pause before it
 * is restarted doubles, from STAGE_PAUSE to LONGEST_PAUSE. */
enum { STEADY = 1000, LONGEST_PAUSE = 5000 };
#define LONGEST_STAY (365ull * 24 * 60 * 60 * 1000) /* for clients of replaced filters */

static void close_stage(struct stage *stage) {
    int *fds[] = {&stage->in, &stage->out, &stage->memory};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (*fds[i] != -1)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

/* Its counters are those at `place` in the server's memory, or if that is -1 in memory of its own.
 */
static bool prepare(struct stage *stage, struct spec *spec, int in, int out, int memory,
                    unsigned place) {
    bool own = memory == -1;
    stage->spec = spec;
    stage->control = -1;
    stage->in = fcntl(in, F_DUPFD_CLOEXEC, 10);
    stage->out = fcntl(out, F_DUPFD_CLOEXEC, 10);
    stage->memory =
        own ? memfd_create("counters", MFD_CLOEXEC) : fcntl(memory, F_DUPFD_CLOEXEC, 10);
    stage->place = own ? 0 : place;
    if (stage->in == -1 || stage->out == -1 || stage->memory == -1 ||
        (own && ftruncate(stage->memory, sizeof *stage->counters) == -1))
        return false;
    void *map = mmap(NULL, sizeof *stage->counters, PROT_READ | PROT_WRITE, MAP_SHARED,
                     stage->memory, (off_t)stage->place * CCF__PLACE);
    stage->counters = map == MAP_FAILED ? NULL : map;
    return map != MAP_FAILED;
}

static void chain_free(struct chain *chain) {
    for (int i = 0; i < chain->plan->count; i++) {
        struct stage *stage = &chain->stage[i];
        close_stage(stage);
        if (stage->control != -1)
            close(stage->control);
        if (stage->counters != NULL)
            munmap(stage->counters, sizeof *stage->counters);
    }
    if (--chain->plan->users == 0 && chain->plan != current)
        plan_free(chain->plan);
    free(chain);
}

/* The first number that no chain of the listener has. */
static unsigned number(const struct listener *listener) {
    unsigned found = 0;
    for (const struct chain *c = listener->chains; c != NULL;) {
        bool taken = c->number == found;
        found += taken;
        c = taken ? listener->chains : c->next;
    }
    return found;
}

bool chain_start(struct listener *listener, struct plan *plan) {
    struct chain *chain = calloc(1, sizeof *chain);
    bool strict = false, good = chain != NULL;
    int in = listener->socket;
    if (!good)
        return false;
    chain->plan = plan;
    chain->number = number(listener);
    plan->users++;
    for (int i = 0; i < plan->count; i++)
        chain->stage[i] = (struct stage){.in = -1, .out = -1, .control = -1, .memory = -1};
    for (int i = 0; i < plan->count && good; i++) {
        bool last = i == plan->count - 1;
        int hop[2] = {-1, listener->hop[1]};
        good = last || cc__pair(hop) == 0;
        good = good && prepare(&chain->stage[i], &plan->spec[i], in, hop[1], listener->memory,
                               chain->number * CCF__CHAIN + (unsigned)i);
        chain->stage[i].strict = strict;
        strict = strict || (plan->spec[i].traits & CCF_CHOOSES);
        if (i > 0)
            close(in);
        if (!last && hop[1] != -1)
            close(hop[1]);
        in = hop[0];
    }
    for (int i = 0; i < plan->count && good; i++)
        good = stage_start(&chain->stage[i]) == 0;
    if (!good) {
        for (int i = 0; i < plan->count; i++)
            if (chain->stage[i].pid > 0)
                kill(chain->stage[i].pid, SIGKILL);
        chain_free(chain);
        return false;
    }
    chain->next = listener->chains;
    listener->chains = chain;
    return true;
}

static bool running(const struct chain *chain) {
    for (int i = 0; i < chain->plan->count; i++)
        if (chain->stage[i].pid != 0)
            return true;
    return false;
}

static void died(struct listener *listener, struct chain *chain, struct stage *stage, int status) {
    uint64_t now = now_ms();
    pid_t pid = stage->pid;
    stage->pid = 0;
    close(stage->control);
    stage->control = -1;
    if (stage->counters != NULL)
        stage->counters->held = stage->counters->oldest = 0;
    if (chain->leaving)
        return;
    stage->counters->deaths++;
    stage->quick = now - stage->started < STEADY ? stage->quick + 1 : 0;
    uint64_t pause =
        stage->quick < 2 ? 0 : STAGE_PAUSE << (stage->quick < 8 ? stage->quick - 2 : 6);
    stage->again = now + (pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE);
    if (WIFSIGNALED(status))
        say("%s of %s (process %d) was killed by signal %d; it is restarted", stage->spec->argv[0],
            listener->name, (int)pid, WTERMSIG(status));
    else
        say("%s of %s (process %d) ended with status %d; it is restarted", stage->spec->argv[0],
            listener->name, (int)pid, WEXITSTATUS(status));
}

void chain_died(pid_t pid, int status) {
    for (struct listener *l = listeners; l != NULL; l = l->next)
        for (struct chain *c = l->chains; c != NULL; c = c->next)
            for (int i = 0; i < c->plan->count; i++)
                if (c->stage[i].pid == pid) {
                    died(l, c, &c->stage[i], status);
                    return;
                }
}

static void tell(const struct stage *stage, uint8_t flags, const int *hop) {
    struct cc__head head = cc__head_of(CC__DRAIN);
    head.flags = flags;
    if (stage->control != -1)
        cc__send(stage->control, &head, NULL, 0, hop, hop != NULL, MSG_DONTWAIT);
}

/* What was replaced has ended, and no more comes. */
static void let_go(struct chain *chain) {
    if (chain != NULL && chain->stays && chain->next == NULL) {
        chain->stays = false;
        tell(&chain->stage[chain->plan->count - 1], 0, NULL);
    }
}

uint64_t chain_tick(uint64_t now) {
    uint64_t soonest = 0;
    for (struct listener *l = listeners; l != NULL; l = l->next) {
        for (struct chain **at = &l->chains; *at != NULL;) {
            struct chain *chain = *at;
            if (chain->leaving && !running(chain)) {
                *at = chain->next;
                chain_free(chain);
                continue;
            }
            uint64_t due = chain->leaving ? chain->deadline : 0;
            for (int i = 0; i < chain->plan->count; i++) {
                struct stage *stage = &chain->stage[i];
                if (chain->leaving && due <= now && stage->pid != 0)
                    kill(stage->pid, SIGKILL);
                bool start_now = !chain->leaving && stage->again != 0 && stage->again <= now;
                int error = start_now ? stage_start(stage) : 0;
                if (error != 0)
                    stage_again(stage, -error);
                if (!chain->leaving && stage->again != 0 && (due == 0 || stage->again < due))
                    due = stage->again;
            }
            if (due != 0 && (soonest == 0 || due < soonest))
                soonest = due;
            at = &chain->next;
        }
        let_go(l->chains);
    }
    return soonest;
}

/* The last filter is told first: it has ended when those before it have, unless it stays. */
void chain_leave(struct listener *listener, struct chain *chain, enum leaving how) {
    int last = chain->plan->count - 1;
    bool again = chain->leaving; /* it was replaced, and now the others end as well */
    uint8_t flags = how == KEEPS ? CC__LINGER : 0;
    chain->leaving = true;
    chain->deadline = now_ms() + (how == KEEPS ? LONGEST_STAY : drain_time);
    chain->stays = how == ENDS && !again && chain->next != NULL;
    for (int i = last; i >= 0; i--)
        tell(&chain->stage[i], i == last && chain->stays ? CC__STAY : flags,
             i == last && how != ENDS ? &listener->hop[0] : NULL);
    /* Now only the filters have the hops, so each filter notices when its predecessor has ended. */
    for (int i = 0; i <= last; i++)
        close_stage(&chain->stage[i]);
}

void chain_kill(void) {
    for (struct listener *l = listeners; l != NULL; l = l->next)
        for (struct chain *c = l->chains; c != NULL; c = c->next)
            for (int i = 0; i < c->plan->count; i++)
                if (c->stage[i].pid != 0)
                    kill(c->stage[i].pid, SIGKILL);
}

bool chain_gone(void) {
    for (struct listener *l = listeners; l != NULL; l = l->next)
        for (struct chain *c = l->chains; c != NULL; c = c->next)
            if (running(c))
                return false;
    return true;
}
