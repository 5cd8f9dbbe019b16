/* resolve.c: names are looked up by getaddrinfo(3) on threads of their own; see resolve.h.
 *
 * Called by dial.c. State: of this process: the lookups that no thread has begun, and the number of
 * threads. getaddrinfo cannot be cancelled, and may take longer than any deadline. So an action
 * leaves its lookup to the thread, and the last of the two frees it. A thread ends when there is
 * nothing to look up. Must not know sessions, nor who waits. */
#include "resolve.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <resolv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    RESOLVE_THREADS = 16,       /* with a resolver that does not answer, further lookups wait */
    RESOLVE_STACK = 256 * 1024, /* modules of the C library (nsswitch.conf) use large buffers */
};

struct nest__lookup {
    struct nest__lookup *next;
    char host[NEST__DIAL_HOST];
    uint16_t port;
    int event;      /* the thread's end: a byte, or its end, wakes the action */
    bool waits;     /* in the list; no thread has begun it */
    unsigned users; /* of 2: the action and the list or thread */
    int error, system;
    unsigned count;
    struct nest__dial_address addresses[NEST__DIAL_ADDRESSES];
};

/* scope: process */
static struct {
    pthread_mutex_t lock;
    struct nest__lookup *first, **last;
    unsigned threads;
    pid_t process; /* whose threads these are: a child that an action forks has none */
} resolve = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* `by` users are done with it. The caller holds the lock. */
static void resolve_release(struct nest__lookup *lookup, unsigned by) {
    lookup->users -= by;
    if (lookup->users == 0) {
        free(lookup);
    }
}

static void resolve_take(struct nest__lookup *lookup, const struct addrinfo *found) {
    for (; found != NULL && lookup->count < NEST__DIAL_ADDRESSES; found = found->ai_next) {
        struct nest__dial_address *address = &lookup->addresses[lookup->count];
        if ((found->ai_family != AF_INET && found->ai_family != AF_INET6) ||
            found->ai_addrlen > sizeof address->socket) {
            continue;
        }
        memset(address, 0, sizeof *address);
        memcpy(&address->socket, found->ai_addr, found->ai_addrlen);
        address->length = found->ai_addrlen;
        address->kind = found->ai_family == AF_INET ? NEST__TCP4 : NEST__TCP6;
        nest__dial_port(address, lookup->port);
        lookup->count++;
    }
    nest__dial_alternate(lookup->addresses, lookup->count);
}

static void resolve_work(struct nest__lookup *lookup) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *found = NULL;
    errno = 0;
    lookup->error = getaddrinfo(lookup->host, NULL, &hints, &found);
    lookup->system = errno;
    if (lookup->error != 0 &&
        lookup->system == ENOMEM) { /* glibc says that there is no such name */
        lookup->error = EAI_MEMORY;
    }
    if (lookup->error == 0) {
        resolve_take(lookup, found);
        freeaddrinfo(found);
    }
}

static void *resolve_main(void *argument) {
    (void)argument;
    pthread_mutex_lock(&resolve.lock);
    while (resolve.first != NULL) {
        struct nest__lookup *lookup = resolve.first;
        resolve.first = lookup->next;
        lookup->waits = false;
        pthread_mutex_unlock(&resolve.lock);
        resolve_work(lookup);
        pthread_mutex_lock(&resolve.lock);
        close(lookup->event); /* its end is what the action waits for */
        resolve_release(lookup, 1);
    }
    resolve.threads--;
    pthread_mutex_unlock(&resolve.lock);
    return NULL;
}

/* Starts a thread, which blocks all signals except its own faults. The caller holds the lock. */
static void resolve_thread(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (resolve.threads >= RESOLVE_THREADS || pthread_attr_init(&attributes) != 0) {
        return;
    }
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&all, faults[i]);
    }
    if (pthread_attr_setstacksize(&attributes, RESOLVE_STACK) == 0 &&
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
        pthread_sigmask(SIG_SETMASK, &all, &before) == 0) {
        resolve.threads += pthread_create(&thread, &attributes, resolve_main, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
}

/* If glibc (2.36) has no memory when it reads resolv.conf for the first time, it keeps a lock, and
 * all later lookups of the process wait for ever. So that is done before memory can be short. */
int nest__resolve_prepare(void) {
    errno = 0;
    if (res_init() == 0) {
        return 0;
    }
    if (errno == 0) {
        errno = EIO;
    }
    return -1;
}

struct nest__lookup *nest__resolve_begin(const char *host, uint16_t port, int *event) {
    int ends[2];
    struct nest__lookup *lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL) {
        return NULL;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == -1) {
        int error = errno;
        free(lookup);
        errno = error;
        return NULL;
    }
    nest_strlcpy(lookup->host, host, sizeof lookup->host);
    lookup->port = port;
    lookup->event = ends[1];
    lookup->users = 2;
    lookup->waits = true;
    pthread_mutex_lock(&resolve.lock);
    if (resolve.process != getpid()) { /* before a fork there were others' */
        resolve.process = getpid();
        resolve.threads = 0;
        resolve.first = NULL;
    }
    if (resolve.first == NULL) {
        resolve.last = &resolve.first;
    }
    *resolve.last = lookup;
    resolve.last = &lookup->next;
    resolve_thread();
    bool none = resolve.threads == 0;
    pthread_mutex_unlock(&resolve.lock);
    if (none) {
        nest__resolve_leave(lookup);
        close(ends[0]);
        errno = EAGAIN;
        return NULL;
    }
    *event = ends[0];
    return lookup;
}

unsigned nest__resolve_result(struct nest__lookup *lookup, struct nest__dial_address to[],
                              int *error) {
    pthread_mutex_lock(&resolve.lock);
    memcpy(to, lookup->addresses, sizeof lookup->addresses);
    unsigned count = lookup->count;
    *error = lookup->error;
    errno = lookup->system;
    pthread_mutex_unlock(&resolve.lock);
    return count;
}

void nest__resolve_leave(struct nest__lookup *lookup) {
    pthread_mutex_lock(&resolve.lock);
    bool waits = lookup->waits;
    if (waits) { /* nobody else would end it */
        struct nest__lookup **at = &resolve.first;
        while (*at != lookup) {
            at = &(*at)->next;
        }
        *at = lookup->next;
        if (resolve.last == &lookup->next) {
            resolve.last = at;
        }
        close(lookup->event);
    }
    resolve_release(lookup, waits ? 2 : 1);
    pthread_mutex_unlock(&resolve.lock);
}
