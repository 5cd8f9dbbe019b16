/* What the library knows about descriptors. table.h has the interface.
 * Must not know: how the calls are named that use it. */
#define _GNU_SOURCE
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pthread_mutex_t cc__lock = PTHREAD_MUTEX_INITIALIZER;
struct cc__reg *cc__regs;
static struct cc__slot *slots;
static int room;

int cc__slots(void) {
    return room;
}

struct cc__conn *cc__conn_at(int fd) {
    return fd >= 0 && fd < room ? slots[fd].conn : NULL;
}

struct cc__link *cc__link_at(int fd) {
    return fd >= 0 && fd < room ? slots[fd].link : NULL;
}

int cc__put(int fd, struct cc__conn *conn, struct cc__link *link) {
    if (fd >= room) {
        int more = room < 64 ? 64 : room;
        while (more <= fd)
            more *= 2;
        struct cc__slot *grown = realloc(slots, (size_t)more * sizeof *slots);
        if (grown == NULL)
            return -ENOMEM;
        memset(grown + room, 0, (size_t)(more - room) * sizeof *slots);
        slots = grown;
        room = more;
    }
    /* The program may have closed the descriptor by close(2): then the entry is stale. */
    cc__forget(fd, 0);
    slots[fd].conn = conn;
    slots[fd].link = link;
    return 0;
}

bool cc__unread(const struct cc__conn *conn) {
    return conn->offset < conn->length;
}

void cc__consumed(struct cc__conn *conn) {
    if (cc__unread(conn))
        return;
    free(conn->bytes);
    conn->bytes = NULL;
    if (conn->memfd != -1)
        close(conn->memfd);
    conn->memfd = -1;
}

void cc__tell(const struct cc__conn *conn, char byte) {
    /* A write that fails leaves a count that does not add up, and the connection ends. */
    for (unsigned i = 0; i < conn->leases; i++) {
        ssize_t written;
        do {
            written = write(conn->lease[i], &byte, 1);
        } while (written == -1 && errno == EINTR);
    }
}

void cc__reg_remove(int epfd, int fd) {
    for (struct cc__reg **at = &cc__regs; *at != NULL;) {
        struct cc__reg *reg = *at;
        if (reg->fd == fd && (epfd == -1 || reg->epfd == epfd)) {
            *at = reg->next;
            free(reg);
        } else {
            at = &reg->next;
        }
    }
}

void cc__release_link(struct cc__link *link) {
    if (--link->refs > 0)
        return;
    close(link->hop);
    close(link->control);
    if (link->other != -1)
        close(link->other);
    free(link);
}

void cc__forget(int fd, char verdict) {
    if (fd < 0 || fd >= room)
        return;
    struct cc__slot *slot = &slots[fd];
    if (slot->conn == NULL && slot->link == NULL)
        return;
    cc__reg_remove(-1, fd);
    if (slot->link != NULL)
        cc__release_link(slot->link);
    struct cc__conn *conn = slot->conn;
    if (conn != NULL && --conn->refs == 0) {
        if (verdict != 0)
            cc__tell(conn, verdict);
        cc__close_all(conn->lease, (int)conn->leases);
        conn->offset = conn->length;
        cc__consumed(conn);
        free(conn);
    }
    slot->conn = NULL;
    slot->link = NULL;
}
