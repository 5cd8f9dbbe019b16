/* newcomers.c: who waits to be taken is taken as soon as may be, and not tried for all the time.
 *
 * Called by loop/accept.c in place of the listener, and after each step. State: since when it
 * rests. It counts by what it sees from outside: tries, releases, the time. */
#include "simulate.h"

#include <errno.h>

enum { NEWCOMERS_REST_MS = 1000, NEWCOMERS_SILENCE_MS = 60000 };

static struct {
    bool resting;     /* the last try has failed, */
    uint32_t until;   /* and until then it is not repeated, */
    bool released;    /* unless a session was released since, */
    bool memory;      /* which helps only if it is not memory that is short */
    uint32_t said_at; /* that they wait; 0: never */
    bool unsaid;      /* the last failure was to be said */
} newcomers;

static bool newcomers_due(void) {
    return !newcomers.resting || nest__reached(newcomers.until, nest__now()) ||
           (newcomers.released && !newcomers.memory);
}

/* What happens to those who wait, from now on. */
static void newcomers_rest(bool fails, bool memory) {
    uint32_t now = nest__now();
    if (newcomers.unsaid) {
        sim_broken(NULL, "nobody says that new clients wait");
    }
    newcomers.resting = fails;
    newcomers.released = false;
    newcomers.memory = memory;
    newcomers.until = nest__after(now, NEWCOMERS_REST_MS);
    newcomers.unsaid =
        fails && (newcomers.said_at == 0 ||
                  nest__reached(nest__after(newcomers.said_at, NEWCOMERS_SILENCE_MS), now));
}

/* Each try, before it is known how it goes. */
static void newcomers_try(bool fails) {
    if (!newcomers_due()) {
        sim_broken(NULL, "newcomers are tried again before they should be");
    }
    newcomers_rest(fails, script_short == -ENOMEM || script_short == -ENOBUFS);
}

/* There was no memory for somebody who is served. */
void newcomers_pause(int error) {
    newcomers_rest(true, true);
    nest__accept_pause(error);
}

/* Some come from elsewhere: with bytes that were received there, or in the middle of what they say.
 */
static void newcomers_bring(struct nest__arrival *arrival) {
    static struct nest__restore restore;
    static uint8_t bytes[NEST__VISIT_IN];
    static uint32_t vars[16];
    struct sim_talk *talk = talk_find((uint32_t)arrival->fd);
    struct script_client *client = script_client(talk->who);
    if (!NEST__MESSAGES && client->n > 0 && !client->reset && sim_chance(30)) {
        uint32_t most = client->n < sizeof bytes ? (uint32_t)client->n : (uint32_t)sizeof bytes;
        uint32_t room = 1 + sim_random(most);
        const struct nest__chan chan = {.fd = arrival->fd, .kind = arrival->kind};
        arrival->n = (uint32_t)nest__chan_receive(&chan, bytes, room, NEST__CHAN_NOW);
        arrival->bytes = bytes;
    }
    if (sim_chance(10)) {
        vars[0] = talk->who;
        restore = (struct nest__restore){.states = acts_restored(talk), .vars = vars};
        restore.last = NEST__DEFAULT_STATE;
        arrival->restore = &restore;
    }
}

int newcomers_take(struct nest__listener *listener, struct nest__arrival *arrival, bool nonblock) {
    if (script_taken < script_opened) { /* else there is nobody to take */
        newcomers_try(script_short != 0);
    }
    int error = nest__take(listener, arrival, nonblock);
    if (error == 0) {
        newcomers_bring(arrival);
    }
    return error;
}

int newcomers_arm(bool on) {
    int error = nest__poller_arm(on);
    if (error < 0) {
        newcomers_try(true);
    }
    return error;
}

void newcomers_said(void) {
    if (!newcomers.unsaid) {
        sim_broken(NULL, "it is said again that new clients wait");
    }
    newcomers.unsaid = false;
    newcomers.said_at = nest__after(nest__now(), 0);
}

void newcomers_released(void) {
    newcomers.released = true;
}

void newcomers_check(void) {
    if (nest__slots_taken() > sim.most) {
        sim_broken(NULL, "%u clients are served, and maxClients is %u",
                   (unsigned)nest__slots_taken(), (unsigned)sim.most);
    }
    if (newcomers.unsaid) {
        sim_broken(NULL, "nobody says that new clients wait");
    }
    if (script_taken < script_opened && nest__slots_taken() < sim.most && newcomers_due() &&
        !nest__loop.cut) {
        sim_broken(NULL, "conversation %u waits, and there is room for it",
                   (unsigned)script_taken + 1);
    }
}

uint32_t newcomers_next(void) {
    return newcomers.resting ? newcomers.until : 0;
}

/* Those who still wait when drainTimeout is over are refused. */
void newcomers_refused(void) {
    struct sim_talk *next;
    for (struct sim_talk *talk = sim.talks; nest__loop.cut && talk != NULL; talk = next) {
        next = talk->next;
        if (talk->who > script_taken) {
            talk_free(talk);
        }
    }
}
