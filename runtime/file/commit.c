/* commit.c: uploads come to their places; those that must be on disk first, in groups.
 *
 * Called by the engine where it may block. State: the uploads that wait to be on disk, of the
 * process, under a lock. Must not know sessions, nor what a helper is.
 *
 * Who commits takes along all that wait by then: their data is written together, and a directory is
 * synced once for all its files. Whoever comes meanwhile waits, and the first of them is the next
 * to go, with all the others. An fsync that fails fails all that it was for. */
#include "upload.h"
#include "../platform/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t finished;
    struct nest__upload *first, *last; /* in order of their offers */
    bool busy;                         /* somebody commits a group */
} commit = {.lock = PTHREAD_MUTEX_INITIALIZER, .finished = PTHREAD_COND_INITIALIZER};

/* With the lock held. */
static void commit_add(struct nest__upload *u) {
    if (u->offered) {
        return;
    }
    u->offered = true;
    u->next = NULL;
    if (commit.first == NULL) {
        commit.first = u;
    } else {
        commit.last->next = u;
    }
    commit.last = u;
}

void nest__upload_offer(struct nest__upload *u) {
    pthread_mutex_lock(&commit.lock);
    commit_add(u);
    pthread_mutex_unlock(&commit.lock);
}

static int commit_directory(int names) {
    int result = 0;
    int fd = openat(names, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd == -1) {
        return -errno;
    }
    if (fsync(fd) == -1) {
        result = -errno;
    }
    close(fd);
    return result;
}

/* Named before it is synced: file systems do not keep what has no name. */
static int commit_file(struct nest__upload *u) {
    if (u->result == 0 && fsync(u->fd) == -1) {
        u->result = -errno;
    }
    return u->result == 0 ? nest__upload_place(u) : u->result;
}

static void commit_group(struct nest__upload *group) {
    for (struct nest__upload *u = group; u != NULL; u = u->next) {
        u->result = nest__upload_name(u);
        if (u->next != NULL || u != group) {
            nest__write_out(u->fd);
        }
    }
    for (struct nest__upload *u = group; u != NULL; u = u->next) {
        u->result = commit_file(u);
        u->settled = u->result != 0;
    }
    for (struct nest__upload *u = group; u != NULL; u = u->next) {
        if (u->settled) {
            continue;
        }
        int result = commit_directory(u->directory);
        for (struct nest__upload *same = u; same != NULL; same = same->next) {
            if (!same->settled && same->device == u->device && same->inode == u->inode) {
                same->result = result;
                same->settled = true;
            }
        }
    }
}

/* With the lock held, and nobody busy. */
static void commit_lead(void) {
    struct nest__upload *group = commit.first;
    commit.first = NULL;
    commit.busy = true;
    pthread_mutex_unlock(&commit.lock);
    commit_group(group);
    pthread_mutex_lock(&commit.lock);
    for (struct nest__upload *u = group; u != NULL; u = u->next) {
        u->finished = true; /* its owner waits for the lock, and then frees it */
    }
    commit.busy = false;
    pthread_cond_broadcast(&commit.finished);
}

static int commit_synced(struct nest__upload *u) {
    pthread_mutex_lock(&commit.lock);
    commit_add(u);
    while (!u->finished) {
        if (commit.busy) {
            pthread_cond_wait(&commit.finished, &commit.lock);
        } else {
            commit_lead();
        }
    }
    pthread_mutex_unlock(&commit.lock);
    return u->result;
}

/* At once where nothing is replaced, else by way of a name beside. */
static int commit_plain(struct nest__upload *u) {
    bool replaces = u->beside[0] != '\0' || (u->guarded && u->replaces);
    int result = replaces ? -EEXIST : nest__name_nameless(u->fd, u->directory, u->name);
    if (result == -EEXIST) {
        result = nest__upload_name(u);
        result = result == 0 ? nest__upload_place(u) : result;
    }
    return result;
}

int nest__upload_commit(struct nest__upload *u, bool sync) {
    int result = sync ? commit_synced(u) : commit_plain(u);
    nest__upload_abandon(u); /* of what has come to its place only the record is left */
    return result;
}
