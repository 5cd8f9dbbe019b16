/* What the server and the operator ask of the chain: filters for a listening socket, other filters,
 * an end in good order. */
#define _GNU_SOURCE
#include "chain.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct listener *listeners;
struct plan *current;

static void name_of(int socket, char *name, size_t room) {
    struct sockaddr_storage bound = {0};
    socklen_t size = sizeof bound;
    char text[64];
    getsockname(socket, (struct sockaddr *)&bound, &size);
    struct cc__address address = cc__address_of(&bound);
    if (address.family == 0) {
        snprintf(name, room, "unix");
        return;
    }
    inet_ntop(address.family == 4 ? AF_INET : AF_INET6, address.bytes, text, sizeof text);
    snprintf(name, room, address.family == 4 ? "%s:%u" : "[%s]:%u", text, address.port);
}

/* What filters of a chain before held, in a server's memory. */
static void forget(int memory) {
    uint64_t held, none[2] = {0}; /* `held` and `oldest` */
    for (off_t at = 0; at < CCF__CHAINS * CCF__CHAIN; at++) {
        off_t place = at * CCF__PLACE + (off_t)offsetof(struct ccf__counters, held);
        /* A read makes no pages of those that nobody has written to. */
        if (pread(memory, &held, sizeof held, place) == sizeof held && held != 0)
            (void)!pwrite(memory, none, sizeof none, place);
    }
}

static int listen_for(const struct cc__message *message) {
    int on = 0;
    socklen_t size = sizeof on;
    if (getsockopt(message->fds[0], SOL_SOCKET, SO_ACCEPTCONN, &on, &size) == -1 || !on)
        return EINVAL;
    struct listener *listener = calloc(1, sizeof *listener);
    if (listener == NULL)
        return ENOMEM;
    listener->socket = message->fds[0];
    listener->hop[1] = message->fds[1];
    listener->hop[0] = message->fds[2];
    listener->memory = message->count == 4 ? message->fds[3] : -1;
    name_of(listener->socket, listener->name, sizeof listener->name);
    if (listener->memory != -1)
        forget(listener->memory);
    if (!chain_start(listener, current)) {
        free(listener);
        return EMFILE;
    }
    listener->number = listeners != NULL ? listeners->number + 1 : 0;
    listener->next = listeners;
    listeners = listener;
    return 0;
}

static int chains(const struct listener *listener) {
    int count = 0;
    for (const struct chain *c = listener->chains; c != NULL; c = c->next)
        count++;
    return count;
}

/* Other filters, as a line of `size` bytes. The clients of those before lose nothing. 0 or an
 * errno; EBUSY: too many chains still have clients. */
static int change(const char *bytes, size_t size) {
    char line[CC__INLINE + 1], why[512], *texts[MOST_FILTERS + 1];
    for (const struct listener *l = listeners; l != NULL; l = l->next)
        if (chains(l) >= CCF__CHAINS)
            return EBUSY;
    memcpy(line, bytes, size);
    line[size] = '\0';
    struct plan *plan = plan_new(texts, keep_split(line, texts), why, sizeof why);
    if (plan == NULL)
        say("%s", why);
    return plan == NULL ? EINVAL : reload(plan, KEEPS) ? 0 : EMFILE;
}

void serve_request(int control) {
    static char bytes[CC__INLINE];
    struct cc__message message = {.bytes = bytes};
    struct cc__head reply = cc__head_of(CC__REPLY);
    int got = cc__receive(control, &message, MSG_DONTWAIT);
    if (got == -EAGAIN)
        return;
    if (got == 1 && message.head.type == CC__LISTEN)
        reply.demand = (uint32_t)listen_for(&message);
    else if (got == 1 && message.head.type == CC__CHAIN)
        reply.demand = (uint32_t)change(bytes, message.head.length);
    else
        reply.demand = EPROTO;
    if (reply.demand != 0)
        cc__close_all(message.fds, message.count);
    cc__send(control, &reply, NULL, 0, NULL, 0, MSG_DONTWAIT);
}

/* Makes the chain before the current one again, and ends the one that would have replaced it. */
static void undo(struct listener *listener, enum leaving how) {
    struct chain *fresh = listener->chains;
    listener->chains = fresh->next;
    fresh->next = fresh->next->next;
    listener->chains->next = fresh;
    chain_leave(listener, fresh, how);
}

bool reload(struct plan *plan, enum leaving how) {
    struct listener *last = listeners;
    /* The new filters accept before the old ones stop: no client is refused in between. */
    while (last != NULL && chain_start(last, plan))
        last = last->next;
    if (last != NULL) {
        for (struct listener *l = listeners; l != last; l = l->next)
            undo(l, how);
        if (plan->users == 0)
            plan_free(plan);
        return false;
    }
    struct plan *before = current;
    /* Chains that leave free the plan before once nobody uses it. */
    current = plan;
    for (struct listener *l = listeners; l != NULL; l = l->next)
        chain_leave(l, l->chains->next, how);
    if (before->users == 0)
        plan_free(before);
    return true;
}

void drain(void) {
    for (struct listener *l = listeners; l != NULL; l = l->next) {
        for (struct chain *c = l->chains; c != NULL; c = c->next)
            chain_leave(l, c, ENDS);
        cc__close_all(l->hop, 2);
        close(l->socket);
        if (l->memory != -1)
            close(l->memory);
    }
}
