/* script_steps.c: runs the steps of a script: commands, passing time, stops and the end.
 *
 * Called by script_poller.c when there is nothing else to do. State: the position in the script.
 * Must not know the language. The server finishes everything that a command causes before the next
 * one is read, except that an action may still wait.
 *
 *     open C | in C "bytes" | eof C | reset C | mail C "bytes" | room C N | room C - | drain
 *     pass MS | clients N | helpers MS | helpers none | reload
 *     fail memory N | fail scarce N | fail stack N | fail watch N | fail file ERROR N
 *     disk cold | disk warm
 *     short ERROR | short none | linger on | linger off
 *     complete later | complete now | complete K | complete K BYTES
 *     C out "bytes" | C closed | C cut
 *
 * C numbers conversations from 1 in the order of `open`, and from 2097153 those that the server
 * opens as further channels. It equals nest_id unless the first command is `clients`, which limits
 * how many clients are served at once: the others wait until one has ended. A client reads all
 * output unless `room`, which may come just before its `open`, limits it to N more bytes. The line
 * `C cut` says that the server has reset the connection.
 *
 * `mail` sends the bytes to C as another worker would; the server must have mailboxes.
 *
 * Time passes only in `pass`; each deadline on the way comes at its moment. Work that may block is
 * done before the next command. `helpers MS` lets each job take that long; with `helpers none` the
 * loop does the work itself. `drain` is TERM; two in a row end the drain; drainTimeout passes like
 * all time. `fail` lets the Nth allocation, stack, channel that begins to wait or file operation
 * from then on fail; `fail scarce` the next N allocations. With `disk cold` no file is in memory,
 * so that reading one is work that may block. After `short`, accepting fails with the error, and
 * new clients wait as those beyond `clients` do. With `linger on` the server reads what a client
 * still sends before it closes, as on sockets; otherwise it closes at once.
 *
 * After `complete later`, receives, sends, accepts and closes complete only by `complete K`. It
 * completes the Kth, from 0, of those that can complete, in the order of conversations, with at
 * most BYTES bytes. `complete now` completes them all, and later ones at once.
 *
 * At the end of stdin, shortages end and every conversation gets eof. Then time passes until no
 * action pauses or waits for work. Then the conversations whose client does not read the rest are
 * reset. */
#include "../loop/accept.h"
#include "../loop/loop.h"
#include "../platform/platform.h"
#include "script.h"

#define STEPS_ALL UINT32_MAX              /* in `next`: the stage has handled all */
enum { STEPS_WAKES = 100000 };            /* pauses at the end, after which an action is given up */
#define STEPS_LAST (25u * 60 * 60 * 1000) /* ms that pass at the end, at most */

static struct {
    enum { STEPS_COMMANDS, STEPS_EOFS, STEPS_TIME, STEPS_RESETS, STEPS_DONE } stage;
    uint32_t next; /* in a stage: the conversation handled last; 0: none yet */
    bool passing;  /* time passes until then */
    uint32_t until;
    bool again; /* slots are used again */
    uint32_t wakes;
} steps;

static void steps_refuse(const char *why) {
    nest__say("script line %u: %s", nest__command_number, why);
    script_status = 2;
    steps.stage = STEPS_RESETS;
    steps.next = 0;
}

/* -- commands */

static void steps_open(uint32_t who) {
    if (nest__stopping()) {
        steps_refuse("the server is stopping: it takes no more conversations");
    } else if (who != script_opened + 1) {
        steps_refuse("conversations are numbered 1, 2, 3, ... in the order of open");
    } else if (who > (steps.again ? SCRIPT_CONVERSATIONS : SCRIPT_CLIENTS)) {
        steps_refuse("a script has at most 131072 conversations, 2097152 with `clients`");
    } else if (script_client_make(who) == NULL) {
        steps_refuse("no memory for this conversation");
    } else {
        script_opened = who;
    }
}

static void steps_clients(uint32_t most) {
    if (script_opened > 0 || most > SCRIPT_CLIENTS) {
        steps_refuse("`clients` stands before the first open, with at most 131072");
        return;
    }
    nest__slots_limit(most);
    nest__slots_prefer_new(false);
    steps.again = true;
}

static void steps_complete(const struct nest__command *command) {
    switch (command->complete) {
    case NEST__COMPLETE_NOW:
        script_later_end();
        break;
    case NEST__COMPLETE_LATER:
        script_later = true;
        break;
    case NEST__COMPLETE_ONE:
        script_ask(command->number, command->room);
        break;
    }
}

static void steps_of_server(const struct nest__command *command) {
    switch (command->verb) {
    case NEST__COMMAND_WRONG:
        steps_refuse(command->why);
        break;
    case NEST__COMMAND_END:
        steps.stage = STEPS_EOFS;
        steps.next = 0;
        script_short = 0;
        script_later_end();
        nest__accept_resume();
        break;
    case NEST__COMMAND_DRAIN:
        script_request(1);
        break;
    case NEST__COMMAND_PASS:
        steps.until = script_now + command->number;
        steps.passing = true;
        break;
    case NEST__COMMAND_CLIENTS:
        steps_clients(command->number);
        break;
    case NEST__COMMAND_HELPERS:
        script_helpers(command->number);
        break;
    case NEST__COMMAND_FAIL:
        script_fail(command);
        break;
    case NEST__COMMAND_DISK:
        script_disk(command->cold);
        break;
    case NEST__COMMAND_SHORT:
        script_short = -command->error;
        break;
    case NEST__COMMAND_RELOAD:
        script_request(NEST__RELOAD);
        break;
    case NEST__COMMAND_LINGER:
        script_lingers = command->cold;
        break;
    case NEST__COMMAND_COMPLETE:
        steps_complete(command);
        break;
    default:
        break;
    }
}

static void steps_reset(struct script_client *client) {
    client->n = 0;
    client->reset = true;
    script_touch(client);
}

/* Bytes for a conversation that the server has closed are dropped. */
static void steps_mail(const struct nest__command *command) {
    const nest_session *s = script_session(command->who);
    if (nest__on_mailbox() == 0) {
        steps_refuse("this server has no mailboxes");
    } else if (s != NULL && nest__on_post(s->self, command->bytes, (uint32_t)command->n) != 0) {
        steps_refuse("the mailbox is full, or the message too long");
    } else {
        script_mailed();
    }
}

static void steps_of_client(const struct nest__command *command) {
    uint32_t who = command->who;
    bool next = command->verb == NEST__COMMAND_ROOM && who == script_opened + 1 &&
                who <= SCRIPT_CONVERSATIONS; /* for what START has to say */
    bool begun = who > SCRIPT_CONVERSATIONS && who <= script_dialled();
    if (who > script_opened && !next && !begun) {
        steps_refuse("this conversation was not opened");
        return;
    }
    struct script_client *client = next ? script_client_make(who) : script_client(who);
    if (client == NULL) {
        if (next) {
            steps_refuse("no memory for this conversation");
        }
        return; /* the server has closed it */
    }
    switch (command->verb) {
    case NEST__COMMAND_MAIL:
        steps_mail(command);
        return;
    case NEST__COMMAND_IN:
        if (client->eof || client->reset) {
            return;
        }
        if (script_sent(client, command->bytes, command->n) < 0) {
            steps_refuse("no memory for these bytes");
            return;
        }
        break;
    case NEST__COMMAND_EOF:
        client->eof = true;
        break;
    case NEST__COMMAND_RESET:
        steps_reset(client);
        return;
    default:
        client->room = command->room;
    }
    script_touch(client);
}

static void steps_command(void) {
    struct nest__command command = nest__command_read();
    if (command.verb == NEST__COMMAND_OPEN) {
        steps_open(command.who);
    } else if (command.verb <= NEST__COMMAND_ROOM) {
        steps_of_client(&command);
    } else {
        steps_of_server(&command);
    }
}

/* -- time */

/* Lets time pass until something is due, at most until then. False: nothing was due. */
static bool steps_pass(uint32_t until) {
    uint32_t next = script_next_time();
    if (next == 0 || (int32_t)(next - until) > 0) {
        script_now = until;
        return false;
    }
    script_now = (int32_t)(next - script_now) > 0 ? next : script_now;
    return true;
}

/* -- the end */

/* True: an action waits for time or work. */
static bool steps_pausing(void) {
    for (; steps.next < script_taken; steps.next++) {
        const nest_session *s = script_session(steps.next + 1);
        if (s != NULL && (s->flags & NEST__WAITING) != 0 && nest__wait_what(s) >= NEST__TIME) {
            return true;
        }
    }
    return false;
}

static void steps_to(int stage) {
    steps.stage = stage;
    steps.next = 0;
}

static void steps_end(void) {
    struct script_client *client;
    switch (steps.stage) {
    case STEPS_EOFS:
        steps.next = script_next(steps.next, script_opened);
        if (steps.next == 0) {
            steps_to(STEPS_TIME);
            steps.until = script_now + STEPS_LAST;
        } else if ((client = script_client(steps.next)) != NULL) {
            client->eof = true;
            script_touch(client);
        }
        break;
    case STEPS_TIME:
        if (steps_pausing() && steps.wakes < STEPS_WAKES && steps_pass(steps.until)) {
            steps.wakes++;
            steps.next = 0;
        } else {
            steps_to(STEPS_RESETS);
        }
        break;
    case STEPS_RESETS:
        if (steps.next != STEPS_ALL && (steps.next = script_next(steps.next, script_opened)) != 0) {
            if ((client = script_client(steps.next)) != NULL) {
                steps_reset(client);
            }
            return;
        }
        steps.next = STEPS_ALL;
        if (nest__slots_taken() == 0) {
            steps_to(STEPS_DONE);
        } else if (!steps_pass(script_now + STEPS_LAST)) { /* otherwise waits for running work */
            nest__say("%u conversations do not end", (unsigned)nest__slots_taken());
            script_status = 1;
            steps_to(STEPS_DONE);
        }
        break;
    default:
        break;
    }
}

void script_step(void) {
    if (steps.passing) {
        steps.passing = steps_pass(steps.until);
    } else if (steps.stage == STEPS_COMMANDS) {
        steps_command();
    } else {
        steps_end();
    }
}

bool script_ended(void) {
    return steps.stage == STEPS_DONE;
}
