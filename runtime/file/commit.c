/* commit.c: puts uploads in their places. Uploads that must be synced to disk are committed in
 * groups.
 *
 * Called by the engine where it may block. State, per process and under a lock: the uploads that
 * wait to be synced. Must not know sessions or helper threads.
 *
 * The thread that commits takes all uploads that are waiting. It writes their data together and
 * syncs each directory once for all its files. Threads that arrive in the meantime wait, and the
 * first of them commits the next group. If an fsync fails, all uploads that depend on it fail. */
#include "upload.h"
#include "../platform/files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t finished;
    struct nest__upload *first, *last; /* in the order of nest__upload_offer */
    bool busy;                         /* a thread is committing a group */
} commit = {.lock = PTHREAD_MUTEX_INITIALIZER, .finished = PTHREAD_COND_INITIALIZER};

/* The caller holds the lock. */
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

/* A directory that may be written and not read cannot be synced alone: all of its file system is.
 */
static int commit_directory(const struct nest__upload *u) {
    int fd = openat(u->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool all = fd == -1 && errno == EACCES;
    if (all) {
        fd = openat(u->directory, u->name,
                    O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (fd == -1) {
        return -errno;
    }
    int result = (all ? syncfs(fd) : fsync(fd)) == -1 ? -errno : 0;
    close(fd);
    return result;
}

/* Names the file before it is synced, because some file systems do not keep files without a name.
 */
static int commit_file(struct nest__upload *u) {
    nest__upload_stamp(u);
    if (u->result == 0 && fsync(u->fd) == -1) {
        u->result = -errno;
    }
    return u->result == 0 ? nest__upload_place(u) : u->result;
}

static int commit_where(struct nest__upload *u) {
    struct stat directory;
    if (fstat(u->directory, &directory) == -1) {
        return -errno;
    }
    u->device = directory.st_dev;
    u->inode = directory.st_ino;
    return 0;
}

static void commit_group(struct nest__upload *group) {
    for (struct nest__upload *u = group; u != NULL; u = u->next) {
        u->result = commit_where(u);
        u->result = u->result == 0 ? nest__upload_name(u) : u->result;
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
        int result = commit_directory(u);
        for (struct nest__upload *same = u; same != NULL; same = same->next) {
            if (!same->settled && same->device == u->device && same->inode == u->inode) {
                same->result = result;
                same->settled = true;
            }
        }
    }
}

/* The caller holds the lock, and no group is being committed. */
static void commit_lead(void) {
    struct nest__upload *group = commit.first;
    commit.first = NULL;
    commit.busy = true;
    pthread_mutex_unlock(&commit.lock);
    commit_group(group);
    pthread_mutex_lock(&commit.lock);
    for (struct nest__upload *u = group; u != NULL; u = u->next) {
        u->finished = true; /* its owner waits for the lock and then frees it */
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

/* Links the file to its name directly if nothing is replaced, otherwise by renaming a temporary
 * name. */
static int commit_plain(struct nest__upload *u) {
    bool replaces = u->beside[0] != '\0' || (u->guarded && u->replaces);
    nest__upload_stamp(u);
    int result = replaces ? -EEXIST : nest__name_nameless(u->fd, u->directory, u->name);
    if (result == -EEXIST) {
        result = nest__upload_name(u);
        result = result == 0 ? nest__upload_place(u) : result;
    }
    return result;
}

int nest__upload_commit(struct nest__upload *u, bool sync) {
    int result = sync ? commit_synced(u) : commit_plain(u);
    nest__upload_abandon(u); /* after success only the record is left to free */
    return result;
}
