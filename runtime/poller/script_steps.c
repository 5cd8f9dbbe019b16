/* script_steps.c: the steps of a script: commands, time that passes, stops, and the end.
 *
 * Called by workers/loops.c. State: where the script stands. Must not know the language. A step is
 * processed completely before the next command is read; an action that waits is left waiting, and
 * the next commands are read meanwhile.
 *
 *     open C | in C "bytes" | eof C | reset C | room C N | room C - | drain
 *     pass MS | clients N | helpers MS | helpers none | reload
 *     fail memory N | fail scarce N | fail stack N | fail file ERROR N | disk cold | disk warm
 *     short ERROR | short none
 *     C out "bytes" | C closed | C cut
 *
 * C counts from 1 in the order of open, and is nest_id unless `clients` stands first: then at most
 * N are served at once, the others wait until one has ended. The client takes all output unless
 * `room`, also just before its open, says how many bytes more. `cut`: reset by the server.
 *
 * Time stands still but in `pass`; what is due on the way happens at its moment. Work that may
 * block is done before the next command, unless `helpers` lets each piece take MS, or has no
 * thread: then it is done at once, in the way. `drain` is TERM, twice at once; drainTimeout passes
 * like all time. `fail` lets the Nth allocation, new stack or operation on a file from then on
 * fail, or, scarce, the next N allocations. Of a cold disk nothing is in memory: what it has takes
 * work that may block. `short`: from then on nobody can be taken, for lack of what the error means;
 * then they wait, as all do who come too many.
 *
 * At the end of stdin nothing is short any more, and every conversation gets eof; then time passes
 * until no action pauses or waits for work; then those whose client does not take the rest are
 * reset. */
#include "../config/config.h"
#include "../platform/platform.h"
#include "../loop/accept.h"
#include "script.h"
#include "../loop/wheel.h"

#include <errno.h>

enum {
    SCRIPT_WAKES = 100000
}; /* at the end, so that an action that never stops pausing does not
      keep the script */
#define SCRIPT_LAST (25u * 60 * 60 * 1000) /* ms that may pass at the end */

enum script_stage { SCRIPT_COMMANDS, SCRIPT_EOFS, SCRIPT_TIME, SCRIPT_RESETS, SCRIPT_DONE };

static enum script_stage script_stage;
static uint32_t script_opened, script_taken;  /* conversations 1 to these */
static uint32_t script_fresh;                 /* just taken, and not yet told what came before; 0 */
static uint32_t script_next;                  /* of a stage: whose turn it is, less 1 */
static bool script_passing, script_draining;  /* time passes until script_until; TERM came */
static uint32_t script_until, script_stop_at; /* 0: no limit */
static uint32_t script_files_at;              /* when files that are kept open expire; 0 */
static uint32_t script_rested_at;             /* when newcomers are tried again; 0 */
static uint32_t script_drain, script_cut;     /* told so far; SCRIPT_TOLD: nothing to tell */
static uint64_t script_cuts;
static uint32_t script_wakes;
#define SCRIPT_TOLD UINT32_MAX

bool nest__stopping(void) {
    return script_draining;
}

uint64_t nest__cut(void) {
    return script_cuts;
}

static nest_session *script_refuse(const char *why) {
    nest__say("script line %u: %s", nest__command_number, why);
    script_status = 2;
    script_stage = SCRIPT_RESETS;
    script_next = 0;
    return NULL;
}

/* Its session; NULL: it was not yet taken, or is closed. */
static nest_session *script_session(uint32_t who) {
    const struct script_client *client = script_client(who);
    return client == NULL || client->slot == NEST__NO_SLOT ? NULL : nest__slot_at(client->slot);
}

/* -- commands */

static nest_session *script_open(uint32_t who) {
    if (script_draining) {
        return script_refuse("the server is stopping: it takes no more conversations");
    }
    if (who != script_opened + 1) {
        return script_refuse("conversations are numbered 1, 2, 3, ... in the order of open");
    }
    if (who > (script_again ? SCRIPT_CONVERSATIONS : SCRIPT_CLIENTS)) {
        return script_refuse("a script has at most 65536 conversations, 2097152 with `clients`");
    }
    if (script_client_make(who) == NULL) {
        return script_refuse("no memory for this conversation");
    }
    script_opened = who;
    return NULL;
}

static nest_session *script_drained(void) {
    uint32_t limit = nest__config.drain_timeout;
    if (!script_draining) {
        script_draining = true;
        script_drain = 0;
        script_stop_at = limit == 0 ? 0 : nest__after(script_now, limit);
    } else if (!script_over) {
        script_stop_at = script_now == 0 ? 1 : script_now;
    }
    return NULL;
}

static nest_session *script_of_server(const struct nest__command *command) {
    switch (command->verb) {
    case NEST__COMMAND_WRONG:
        return script_refuse(command->why);
    case NEST__COMMAND_END:
        script_stage = SCRIPT_EOFS;
        script_next = 0;
        script_short = 0;
        nest__accept_resume();
        return NULL;
    case NEST__COMMAND_DRAIN:
        return script_drained();
    case NEST__COMMAND_PASS:
        script_until = script_now + command->number;
        script_passing = true;
        return NULL;
    case NEST__COMMAND_CLIENTS:
        if (script_opened > 0 || command->number > SCRIPT_CLIENTS) {
            return script_refuse("`clients` stands before the first open, with at most 65536");
        }
        nest__slots_limit(command->number);
        script_again = true;
        return NULL;
    case NEST__COMMAND_HELPERS:
        script_helpers(command->number);
        return NULL;
    case NEST__COMMAND_FAIL:
        script_fail(command);
        return NULL;
    case NEST__COMMAND_DISK:
        script_disk(command->cold);
        return NULL;
    case NEST__COMMAND_SHORT:
        script_short = -command->error;
        return NULL;
    case NEST__COMMAND_RELOAD:
        nest__config_reload();
        return NULL;
    default:
        return NULL;
    }
}

static nest_session *script_of_client(const struct nest__command *command) {
    uint32_t who = command->who;
    bool next = command->verb == NEST__COMMAND_ROOM && who == script_opened + 1 &&
                who <= SCRIPT_CONVERSATIONS; /* for what START has to say */
    if (who > script_opened && !next) {
        return script_refuse("this conversation was not opened");
    }
    struct script_client *client = next ? script_client_make(who) : script_client(who);
    if (client == NULL) {
        return next ? script_refuse("no memory for this conversation")
                    : NULL; /* the server has closed it: nobody hears its client */
    }
    nest_session *s = script_session(who);
    switch (command->verb) {
    case NEST__COMMAND_IN:
        if (client->eof || client->reset) {
            return NULL;
        }
        if (script_send(client, command->bytes, command->n) < 0) {
            return script_refuse("no memory for these bytes");
        }
        break;
    case NEST__COMMAND_EOF:
        client->eof = true;
        break;
    case NEST__COMMAND_RESET:
        client->reset = true;
        return s == NULL ? NULL : script_reset(s);
    default:
        client->room = command->room;
    }
    return s == NULL ? NULL : script_heard(s);
}

static nest_session *script_command(void) {
    struct nest__command command = nest__command_read();
    return command.verb == NEST__COMMAND_OPEN   ? script_open(command.who)
           : command.verb <= NEST__COMMAND_ROOM ? script_of_client(&command)
                                                : script_of_server(&command);
}

/* -- time */

static void script_sooner(uint32_t *next, uint32_t due) {
    if (due != 0 && (*next == 0 || (int32_t)(due - *next) < 0)) {
        *next = due;
    }
}

/* Time passes until something is due, at most until then. False: until then, nothing is. */
static bool script_pass(uint32_t until) {
    uint32_t next = nest__wheel_next();
    script_sooner(&next, script_job_next());
    script_sooner(&next, script_stop_at);
    script_sooner(&next, script_rested_at);
    script_sooner(&next, script_files_at);
    if (next == 0 || (int32_t)(next - until) > 0) {
        script_now = until;
        return false;
    }
    script_now = (int32_t)(next - script_now) > 0 ? next : script_now;
    return true;
}

/* -- stops */

static nest_session *script_tell_drain(uint32_t who) {
    nest_session *s = script_session(who);
    if (s != NULL && s->phase != NEST__ENDED) {
        script_tell(s, NEST__EVENT_DRAIN);
    }
    return NULL;
}

/* drainTimeout is over. Work is never cut: who waits for it is told, and ends after that. */
static nest_session *script_tell_cut(uint32_t who) {
    nest_session *s = script_session(who);
    if (s == NULL) {
        return NULL;
    }
    script_cuts++;
    script_status = script_status == 0 ? 1 : script_status;
    if ((s->flags & NEST__WAITING) != 0 &&
        ((struct nest__waiter *)s->waiter)->wait->what != NEST__WORK) {
        return script_waited(s, -ECANCELED);
    }
    script_tell(s, NEST__EVENT_CUT);
    return NULL;
}

/* Its client was gone before the server took it. */
static nest_session *script_greet(uint32_t who) {
    nest_session *s = script_session(who);
    return s != NULL && script_client(who)->reset ? script_reset(s) : NULL;
}

/* -- the end */

/* Whether an action waits for time or work. */
static bool script_pausing(void) {
    for (; script_next < script_taken; script_next++) {
        const nest_session *s = script_session(script_next + 1);
        if (s != NULL && (s->flags & NEST__WAITING) != 0 &&
            ((const struct nest__waiter *)s->waiter)->wait->what >= NEST__TIME) {
            return true;
        }
    }
    return false;
}

static nest_session *script_end(void) {
    nest_session *s;
    switch (script_stage) {
    case SCRIPT_EOFS:
        if (script_next < script_opened) {
            struct script_client *client = script_client(++script_next);
            s = script_session(script_next);
            if (client != NULL) {
                client->eof = true;
            }
            return s == NULL ? NULL : script_heard(s);
        }
        script_stage = SCRIPT_TIME;
        script_next = 0;
        script_until = script_now + SCRIPT_LAST;
        return NULL;
    case SCRIPT_TIME:
        if (script_pausing() && script_wakes < SCRIPT_WAKES && script_pass(script_until)) {
            script_wakes++;
            script_next = 0;
            return NULL;
        }
        script_stage = SCRIPT_RESETS;
        script_next = 0;
        return NULL;
    case SCRIPT_RESETS:
        if (script_next < script_opened) {
            struct script_client *client = script_client(++script_next);
            s = script_session(script_next);
            if (client != NULL) {
                client->reset = true;
            }
            return s == NULL ? NULL : script_reset(s);
        }
        if (script_live > 0 && script_pass(script_now + SCRIPT_LAST)) {
            return NULL; /* for work that is under way */
        }
        if (script_live > 0) {
            nest__say("%u conversations do not end", (unsigned)script_live);
            script_status = 1;
        }
        script_stage = SCRIPT_DONE;
        return NULL;
    default:
        return NULL;
    }
}

/* -- the loop's side */

int nest__take(struct nest__listener *listener, struct nest__arrival *arrival, bool nonblocking) {
    (void)listener, (void)nonblocking;
    if (script_short == 0) {
        script_fresh = ++script_taken;
        *arrival = (struct nest__arrival){(int)script_taken, NEST__SCRIPT, 0};
    }
    return script_short;
}

/* Where memory is short, there is none to arm a listener either. */
int nest__io_arm(bool on) {
    return on && script_short == -ENOMEM ? -ENOMEM : 0;
}

void nest__io_rest(uint32_t ms) {
    script_rested_at = nest__after(script_now, ms);
}

static void script_take(void) {
    struct nest__arrival arrival;
    int error;
    nest_session *s = nest__accept_take(&nest__listeners[0], &arrival, &error);
    if (s != NULL) {
        script_begin(s, &arrival);
    }
}

nest_session *nest__io_step(void) {
    nest_session *s;
    script_scribble(); /* an action waits: the lease is over */
    if (script_fresh != 0) {
        uint32_t who = script_fresh;
        script_fresh = 0;
        return script_greet(who);
    }
    if (nest__accept.open && script_taken < script_opened) {
        script_take();
        return NULL;
    }
    if (script_drain < script_taken) {
        return script_tell_drain(++script_drain);
    }
    if (script_cut < script_taken) {
        return script_tell_cut(++script_cut);
    }
    if ((s = script_job_done()) != NULL) {
        return s;
    }
    if ((s = nest__wheel_take(script_now)) != NULL) {
        return script_due(s);
    }
    if (script_rested_at != 0 && nest__reached(script_rested_at, script_now)) {
        script_rested_at = 0;
        nest__accept_resume();
        return NULL;
    }
    if (script_stop_at != 0 && nest__reached(script_stop_at, script_now)) {
        script_stop_at = 0;
        script_over = true;
        script_cut = 0;
        return NULL;
    }
    if (script_files_at != 0 && nest__reached(script_files_at, script_now)) {
        script_files_at = 0;
        if (nest__cache_expire()) {
            (void)nest__cache_close(NULL);
        }
        return NULL;
    }
    if (script_files_at == 0 && nest__cache_used()) {
        script_files_at = nest__after(script_now, NEST__CACHE_LIFE);
    }
    if (script_passing) {
        script_passing = script_pass(script_until);
        return NULL;
    }
    return script_stage == SCRIPT_COMMANDS ? script_command() : script_end();
}

bool nest__io_done(void) {
    return script_stage == SCRIPT_DONE;
}

int nest__io_status(void) {
    return script_status;
}

/* Features keep something for each of maxClients: a script's limit is another. */
uint32_t nest__io_prepare(void) {
    nest__config.max_clients = SCRIPT_CLIENTS;
    (void)nest__cache_limit(UINT64_MAX);
    return SCRIPT_CLIENTS;
}

int nest__io_start(void) {
    script_drain = SCRIPT_TOLD;
    script_cut = SCRIPT_TOLD;
    nest__accept_open(true);
    return 0;
}
