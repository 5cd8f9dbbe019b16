/* Refusing a connection: the answer, the end, and the count of the reason. */
#define _GNU_SOURCE
#include "frame.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* The last place counts all reasons that found no place of their own. */
static void count(const char *reason) {
    size_t i = 0;
    while (i < ccf__count->reasons &&
           strncmp(ccf__count->refused[i].name, reason, CCF__REASON_NAME - 1) != 0)
        i++;
    if (i == CCF__REASONS)
        i = CCF__REASONS - 1;
    if (i == ccf__count->reasons) {
        snprintf(ccf__count->refused[i].name, CCF__REASON_NAME, "%s",
                 i == CCF__REASONS - 1 ? "other" : reason);
        __atomic_store_n(&ccf__count->reasons, i + 1, __ATOMIC_RELEASE);
    }
    ccf__count->refused[i].count++;
}

void ccf_refuse(struct ccf_bundle *bundle, const char *reason, const char *answer) {
    if (reason != NULL)
        count(reason);
    if (answer != NULL && !ccf_inside()) {
        char rest[16384];
        send(bundle->fd, answer, strlen(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
        /* Closing a socket with unread bytes would reset it, and the answer might be lost. */
        for (int i = 0; i < 4 && recv(bundle->fd, rest, sizeof rest, MSG_DONTWAIT) > 0; i++)
            continue;
    }
    /* Filters in front may have the socket open, and close it when they notice. */
    shutdown(bundle->fd, SHUT_RDWR);
    ccf__free(bundle);
}
