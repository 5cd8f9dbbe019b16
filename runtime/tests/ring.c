/* ring.c: messages of poller/ring.c in a queue of submissions that becomes full: each socket gets
 * its own bytes, at whatever entry the queue is when a message is made.
 *
 * Run by `make ring`. Where the kernel gives no ring there is nothing to try. */
#include "sample/sizes.h"

#include "../poller/ring.c"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAIRS = 8, PIECE = 3, WAIT_MS = 60 * 1000 };

static int pairs[PAIRS][2];
static char texts[PAIRS][2 * PIECE];

_Noreturn void nest__closed_under(void) {
    printf("FAILED: ring: the kernel does not know its ring\n");
    exit(1);
}

static void fail(const char *what, unsigned entries, int pair) {
    printf("FAILED: ring: %s, client %d, after %u entries\n", what, pair, entries);
    exit(1);
}

/* A message of two pieces, as a poller makes it. */
static void tell(unsigned entries, int pair) {
    struct msghdr *message = nest__ring_message();
    struct nest__sqe *sqe =
        message == NULL ? NULL : nest__ring_submit(NEST__SQE_SENDMSG, pairs[pair][0], 1);
    if (sqe == NULL) {
        fail("no entry", entries, pair);
        return;
    }
    for (int piece = 0; piece < 2; piece++) {
        message->msg_iov[message->msg_iovlen++] =
            (struct iovec){texts[pair] + piece * PIECE, PIECE};
    }
    sqe->address = (uintptr_t)message;
    sqe->length = 1;
    sqe->how = MSG_NOSIGNAL;
}

static void heard(unsigned entries, int pair) {
    struct pollfd ready = {.fd = pairs[pair][1], .events = POLLIN};
    char got[2 * PIECE + 1];
    if (poll(&ready, 1, WAIT_MS) != 1) {
        fail("nothing came", entries, pair);
    }
    ssize_t n = recv(pairs[pair][1], got, sizeof got, MSG_DONTWAIT);
    if (n != 2 * PIECE || memcmp(got, texts[pair], 2 * PIECE) != 0) {
        fail("other bytes came", entries, pair);
    }
}

static void attempt(unsigned entries) {
    struct nest__cqe done;
    for (unsigned i = 0; i < entries; i++) {
        (void)nest__ring_submit(NEST__SQE_NOTHING, -1, 0);
    }
    for (int pair = 0; pair < PAIRS; pair++) {
        tell(entries, pair);
    }
    nest__ring_enter(false);
    for (int pair = 0; pair < PAIRS; pair++) {
        heard(entries, pair);
    }
    while (nest__ring_next(&done)) {
    }
}

int main(void) {
    int error = nest__ring_open();
    if (error < 0) {
        printf("ring: this kernel gives none: %s\n", strerror(-error));
        return 0;
    }
    for (int pair = 0; pair < PAIRS; pair++) {
        memset(texts[pair], 'a' + pair, sizeof texts[pair]);
        if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pairs[pair]) == -1) {
            fail("no sockets", 0, pair);
        }
    }
    for (unsigned entries = RING_SUBMISSIONS - PAIRS - 1; entries <= RING_SUBMISSIONS; entries++) {
        attempt(entries);
    }
    printf("ring: all is well\n");
    return 0;
}
