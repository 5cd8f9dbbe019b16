/* What the server and the operator ask of the chain: filters for a listening socket, other filters,
 * an end in good order. */
#define _GNU_SOURCE
#include "chain.h"

#include <arpa/inet.h>
#include <errno.h>
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
    if (!chain_start(listener, current)) {
        free(listener);
        return EMFILE;
    }
    listener->number = listeners != NULL ? listeners->number + 1 : 0;
    listener->next = listeners;
    listeners = listener;
    return 0;
}

void serve_request(int control) {
    struct cc__message message = {.bytes = NULL};
    struct cc__head reply = cc__head_of(CC__REPLY);
    int got = cc__receive(control, &message, MSG_DONTWAIT);
    if (got == -EAGAIN)
        return;
    if (got == 1 && message.head.type == CC__LISTEN)
        reply.demand = (uint32_t)listen_for(&message);
    else
        reply.demand = EPROTO;
    if (reply.demand != 0)
        cc__close_all(message.fds, message.count);
    cc__send(control, &reply, NULL, 0, NULL, 0, MSG_DONTWAIT);
}

bool reload(struct plan *plan) {
    struct plan *before = current;
    bool good = true;
    /* Chains that leave free the plan before once nobody uses it. */
    current = plan;
    for (struct listener *l = listeners; l != NULL; l = l->next) {
        struct chain *old = l->chains;
        /* The new filters accept before the old ones stop: no client is refused in between. */
        if (chain_start(l, plan))
            chain_leave(l, old, true);
        else
            good = false;
    }
    if (before->users == 0)
        plan_free(before);
    return good;
}

void drain(void) {
    for (struct listener *l = listeners; l != NULL; l = l->next) {
        for (struct chain *c = l->chains; c != NULL; c = c->next)
            if (!c->leaving)
                chain_leave(l, c, false);
        cc__close_all(l->hop, 2);
        close(l->socket);
        if (l->memory != -1)
            close(l->memory);
    }
}
