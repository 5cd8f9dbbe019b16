/* Bundles: a connection, its request, its leases; and lists of them.
 * Must not know: where they come from, where they go. */
#define _GNU_SOURCE
#include "frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

int ccf__highest;
static struct ccf_bundle *oldest, *youngest;

void ccf__seen(int fd) {
    if (fd > ccf__highest)
        ccf__highest = fd;
}

static struct ccf_bundle *make(void) {
    size_t own = (sizeof(struct ccf_bundle) + 15) & ~(size_t)15;
    struct ccf_bundle *bundle = calloc(1, own + ccf__filter->extra);
    if (bundle == NULL)
        return NULL;
    bundle->memfd = -1;
    bundle->own = (char *)bundle + own;
    return bundle;
}

struct ccf_bundle *ccf__new(int fd) {
    struct ccf_bundle *bundle = make();
    if (bundle == NULL)
        return NULL;
    ccf__seen(fd);
    bundle->fd = fd;
    bundle->born = ccf_now();
    return bundle;
}

struct ccf_bundle *ccf__from(const struct cc__message *message) {
    const struct cc__head *head = &message->head;
    struct ccf_bundle *bundle = make();
    bool inside = !(head->flags & CC__MEMFD) && head->length > 0;
    if (bundle != NULL && inside)
        bundle->bytes = malloc(head->length);
    if (bundle == NULL || (inside && bundle->bytes == NULL)) {
        free(bundle);
        return NULL;
    }
    if (inside)
        memcpy(bundle->bytes, message->bytes, head->length);
    for (int i = 0; i < message->count; i++)
        ccf__seen(message->fds[i]);
    bundle->fd = message->fds[0];
    bundle->leases = head->leases;
    memcpy(bundle->lease, message->fds + 1, head->leases * sizeof(int));
    if (head->flags & CC__MEMFD)
        bundle->memfd = message->fds[1 + head->leases];
    bundle->complete = (head->flags & CC__COMPLETE) != 0;
    bundle->length = head->length;
    bundle->born = head->born;
    bundle->from.family = head->family;
    bundle->from.port = head->port;
    memcpy(bundle->from.bytes, head->address, 16);
    return bundle;
}

int ccf__send(int link, const struct ccf_bundle *bundle) {
    struct cc__head head = cc__head_of(CC__BUNDLE);
    int fds[CC__FDS], count = 0;
    fds[count++] = bundle->fd;
    for (int i = 0; i < bundle->leases; i++)
        fds[count++] = bundle->lease[i];
    if (bundle->memfd != -1)
        fds[count++] = bundle->memfd;
    head.flags =
        (uint8_t)((bundle->complete ? CC__COMPLETE : 0) | (bundle->memfd != -1 ? CC__MEMFD : 0));
    head.leases = bundle->leases;
    head.length = bundle->length;
    head.born = bundle->born;
    head.family = bundle->from.family;
    head.port = bundle->from.port;
    memcpy(head.address, bundle->from.bytes, 16);
    size_t inside = bundle->memfd == -1 ? bundle->length : 0;
    return cc__send(link, &head, bundle->bytes, inside, fds, count, MSG_DONTWAIT);
}

void ccf__hold(struct ccf_bundle *bundle) {
    bundle->held = true;
    bundle->younger = NULL;
    bundle->older = youngest;
    *(youngest != NULL ? &youngest->younger : &oldest) = bundle;
    youngest = bundle;
    ccf__count->held++;
    ccf__count->oldest = oldest->born;
}

void ccf__release(struct ccf_bundle *bundle) {
    if (!bundle->held)
        return;
    *(bundle->older != NULL ? &bundle->older->younger : &oldest) = bundle->younger;
    *(bundle->younger != NULL ? &bundle->younger->older : &youngest) = bundle->older;
    bundle->held = false;
    ccf__count->held--;
    ccf__count->oldest = oldest != NULL ? oldest->born : 0;
}

void ccf__free(struct ccf_bundle *bundle) {
    ccf__release(bundle);
    close(bundle->fd);
    if (bundle->memfd != -1)
        close(bundle->memfd);
    cc__close_all(bundle->lease, bundle->leases);
    free(bundle->bytes);
    free(bundle);
}

void ccf_drop(struct ccf_bundle *bundle) {
    ccf__free(bundle);
}

struct ccf_bundle *ccf_copy(const struct ccf_bundle *bundle) {
    struct ccf_bundle *copy = make();
    if (copy == NULL)
        return NULL;
    copy->fd = fcntl(bundle->fd, F_DUPFD_CLOEXEC, 0);
    if (copy->fd == -1) {
        free(copy);
        return NULL;
    }
    ccf__seen(copy->fd);
    copy->from = bundle->from;
    copy->born = bundle->born;
    /* Leases of filters in front belong to every request of the connection. */
    for (int i = 0; i < bundle->leases; i++) {
        copy->lease[copy->leases] = fcntl(bundle->lease[i], F_DUPFD_CLOEXEC, 0);
        if (copy->lease[copy->leases] == -1) {
            ccf__free(copy);
            return NULL;
        }
        ccf__seen(copy->lease[copy->leases++]);
    }
    ccf__hold(copy);
    return copy;
}

const char *ccf_head(struct ccf_bundle *bundle, size_t *length) {
    if (bundle->memfd != -1 && bundle->bytes == NULL) {
        size_t size = bundle->length < CC__INLINE ? bundle->length : CC__INLINE;
        bundle->bytes = malloc(CC__INLINE);
        ssize_t got = bundle->bytes != NULL ? pread(bundle->memfd, bundle->bytes, size, 0) : -1;
        if (got != (ssize_t)size) {
            free(bundle->bytes);
            bundle->bytes = NULL;
        }
    }
    *length = bundle->bytes == NULL ? 0 : bundle->length;
    if (bundle->memfd != -1 && *length > CC__INLINE)
        *length = CC__INLINE;
    return bundle->bytes;
}

/* Copies a file's bytes from an offset to the end of another. */
static bool append(int to, int from, off_t offset, off_t end) {
    char buffer[16384];
    while (offset < end) {
        size_t want = end - offset < (off_t)sizeof buffer ? (size_t)(end - offset) : sizeof buffer;
        ssize_t got = pread(from, buffer, want, offset);
        if (got <= 0 || write(to, buffer, (size_t)got) != got)
            return false;
        offset += got;
    }
    return true;
}

bool ccf_replace(struct ccf_bundle *bundle, size_t old, const char *bytes, size_t n) {
    if (ccf_peeks() || old > bundle->length || bundle->length - old + n > CC__REQUEST_MAX)
        return false;
    size_t rest = bundle->length - old, whole = rest + n;
    if (bundle->memfd == -1 && whole <= CC__INLINE) {
        char *made = malloc(whole > 0 ? whole : 1);
        if (made == NULL)
            return false;
        if (n > 0)
            memcpy(made, bytes, n);
        if (rest > 0)
            memcpy(made + n, bundle->bytes + old, rest);
        ccf_package(bundle, made, -1, (uint32_t)whole);
        return true;
    }
    int made = memfd_create("request", MFD_CLOEXEC);
    bool good = made != -1 && write(made, bytes, n) == (ssize_t)n;
    if (good && bundle->memfd == -1)
        good = write(made, bundle->bytes + old, rest) == (ssize_t)rest;
    else if (good)
        good = append(made, bundle->memfd, (off_t)old, (off_t)bundle->length);
    if (!good) {
        if (made != -1)
            close(made);
        return false;
    }
    ccf_package(bundle, NULL, made, (uint32_t)whole);
    return true;
}

void ccf_package(struct ccf_bundle *bundle, char *bytes, int memfd, uint32_t length) {
    free(bundle->bytes);
    if (bundle->memfd != -1)
        close(bundle->memfd);
    ccf__seen(memfd);
    bundle->bytes = bytes;
    bundle->memfd = memfd;
    bundle->length = length;
    bundle->complete = true;
}

void ccf_push(struct ccf_list *list, struct ccf_bundle *bundle) {
    bundle->next = NULL;
    bundle->prev = list->last;
    *(list->last != NULL ? &list->last->next : &list->first) = bundle;
    list->last = bundle;
    list->count++;
}

void ccf_take(struct ccf_list *list, struct ccf_bundle *bundle) {
    *(bundle->prev != NULL ? &bundle->prev->next : &list->first) = bundle->next;
    *(bundle->next != NULL ? &bundle->next->prev : &list->last) = bundle->prev;
    bundle->next = bundle->prev = NULL;
    list->count--;
}

struct ccf_bundle *ccf_pop(struct ccf_list *list) {
    struct ccf_bundle *bundle = list->first;
    if (bundle != NULL)
        ccf_take(list, bundle);
    return bundle;
}
