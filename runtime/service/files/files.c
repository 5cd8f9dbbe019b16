/* files.c: the directives for files. A reply uses the output queue; an upload consumes input.
 *
 * Called by actions and at join points. State: the running action's open files, in the session's
 * work block. Calls that may wait for a disk are made as NEST__WORK. Contents that are in memory
 * are read directly into the queue. Must not know how files are found, nor which thread does the
 * work. */
#include "files.h"
#include "../../engine/engine.h"
#include "../../file/access.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    FILES_OPEN = 16,            /* open files of one action */
    FILES_PIECE = 64 * 1024,    /* of a reply, read from memory; at most outputBuffer */
    FILES_AHEAD = 64 * 1024,    /* read from a disk at a time */
    FILES_SOON = 1024 * 1024,   /* read ahead meanwhile */
    FILES_RECEIVED = 64 * 1024, /* written to a disk at a time */
    FILES_DIRECT = 8 * 1024,    /* from this size on a copy costs more than two calls */
    FILES_DESCRIPTORS = 2       /* of an upload: the file and its directory */
};

static int files_failed(int error) {
    errno = -error;
    return -1;
}

/* -- open */

struct nest__opened { /* in the action's arena */
    struct nest__opened *next;
    int32_t fd;
};

int nest__files_start(void) {
    return nest__file_root_open();
}

void nest__files_close(void) {
    nest__file_root_close();
}

void nest__files_lost(long process) {
    nest__file_root_lost(process);
}

/* One directive runs at a time. */
struct nest__need nest__files_need(void) {
    uint64_t records = FILES_OPEN * 2 * (sizeof(struct nest__opened) + sizeof(max_align_t));
    uint64_t buffer = FILES_AHEAD > FILES_RECEIVED ? FILES_AHEAD : FILES_RECEIVED;
    return (struct nest__need){"a file on its way", NULL, buffer + records, buffer + records};
}

/* Files are open only while an action runs. A directive fails if there is no descriptor. */
unsigned nest__files_descriptors(bool most) {
    return most ? FILES_DESCRIPTORS : 0;
}

void nest__files_leave(nest_session *s) {
    for (const struct nest__opened *file = s->work->services.files.first; file != NULL;
         file = file->next) {
        nest__file_close(file->fd);
    }
    s->work->services.files.first = NULL;
    s->work->services.files.again = false;
}

/* -- delete */

struct files_deletion {
    const char *path;
    const nest_file *same; /* NULL: any file */
};

static int files_delete_work(void *arg) {
    const struct files_deletion *deletion = arg;
    return nest__file_delete(deletion->path, deletion->same);
}

/* Works in END even if the client is gone, because actions clean up there. */
static int files_delete(nest_session *s, struct files_deletion deletion) {
    if (s->reason == NEST_OPEN && nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    int error = deletion.path == NULL ? -ENOENT : nest__await_work(s, files_delete_work, &deletion);
    if (error == -ESTALE && s->work != NULL) {
        s->work->services.files.again = true;
    }
    return error < 0 ? files_failed(error) : 0;
}

int nest_file_delete(nest_session *s, const char *path) {
    return files_delete(s, (struct files_deletion){path, NULL});
}

int nest_file_delete_unchanged(nest_session *s, const char *path, const nest_file *file) {
    return files_delete(s, (struct files_deletion){path, file});
}

struct files_opening {
    const char *path;
    nest_file *file;
};

static int files_open_work(void *arg) {
    const struct files_opening *opening = arg;
    return nest__file_open(opening->path, false, opening->file);
}

int nest__files_find(nest_session *s, const char *path, nest_file *file) {
    const struct nest__files_state *state = s->work == NULL ? NULL : &s->work->services.files;
    bool fresh = state != NULL && (state->fresh || state->again);
    int result = path == NULL ? -ENOENT : fresh ? -EAGAIN : nest__file_open(path, true, file);
    if (result == -EAGAIN) {
        struct files_opening opening = {.path = path, .file = file};
        result = nest__await_work(s, files_open_work, &opening);
    }
    return result;
}

__attribute__((noinline)) static int files_open(nest_session *s, const char *path,
                                                nest_file *file) {
    unsigned open = 0;
    *file = (nest_file){.fd = -1};
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    /* The list is in the arena, which is aligned only for text. */
    const size_t align = _Alignof(struct nest__opened);
    char *room = nest__arena_take(s, sizeof(struct nest__opened) + align);
    if (room == NULL) {
        return files_failed(-ENOMEM);
    }
    struct nest__opened *entry = (void *)(((uintptr_t)room + align - 1) & ~(uintptr_t)(align - 1));
    for (const struct nest__opened *other = s->work->services.files.first; other != NULL;
         other = other->next) {
        open++;
    }
    int result = open < FILES_OPEN ? nest__files_find(s, path, file) : -EMFILE;
    if (result < 0) {
        *file = (nest_file){.fd = -1};
        return files_failed(result);
    }
    *entry = (struct nest__opened){s->work->services.files.first, file->fd};
    s->work->services.files.first = entry;
    return 0;
}

int nest_file_open(nest_session *s, const char *path, nest_file *file) {
    struct nest__trip *trip = nest__at_home(s);
    int result = files_open(s, path, file);
    nest__from_home(trip);
    return result;
}

/* -- reply */

struct files_reply {
    const char *path; /* for the log; NULL: opened by the action */
    int fd;
    uint64_t at, left;
    uint8_t *ahead; /* bytes read from a disk, from ahead_at on; NULL: none yet */
    uint64_t ahead_at;
    size_t ahead_n;
    int64_t result; /* of the last reading */
};

/* Reads from `at` on, as much as fits or the file has. */
static int files_read_work(void *arg) {
    struct files_reply *reply = arg;
    size_t want = reply->left < FILES_AHEAD ? (size_t)reply->left : FILES_AHEAD;
    reply->result = 0;
    reply->ahead_n = 0;
    reply->ahead_at = reply->at;
    do {
        reply->result = nest__file_read(reply->fd, reply->ahead + reply->ahead_n,
                                        want - reply->ahead_n, reply->at + reply->ahead_n, false);
        reply->ahead_n += reply->result > 0 ? (size_t)reply->result : 0;
    } while (reply->result > 0 && reply->ahead_n < want);
    if (reply->left > reply->ahead_n) {
        nest__file_ahead(reply->fd, reply->at + reply->ahead_n, FILES_SOON);
    }
    return 0;
}

/* The file is shorter than announced. The client may know the length of the reply only by the end
 * of the connection, so the connection is reset: the reply must not look complete. */
static int files_reply_cut(nest_session *s, const struct files_reply *reply, int error) {
    nest_log(s, NEST_ERROR, "%s%s%s; the connection is closed",
             reply->path == NULL ? "a file" : reply->path, error == 0 ? " shrank" : ": ",
             error == 0 ? " while it was sent" : strerror(-error));
    s->flags |= NEST__CUT | NEST__CLOSING;
    s->c0.state |= NEST__CHAN_CUT;
    nest__out_drop(s);
    return files_failed(error == 0 ? -EIO : error);
}

/* Queues the next n bytes through `ahead`. Returns 0 or -1. */
static int files_reply_cold(nest_session *s, struct files_reply *reply, size_t n) {
    if (reply->ahead == NULL) {
        size_t room = reply->left < FILES_AHEAD ? (size_t)reply->left : FILES_AHEAD;
        reply->ahead = malloc(room);
        if (reply->ahead == NULL) {
            return files_reply_cut(s, reply, -ENOMEM);
        }
    }
    if (reply->at < reply->ahead_at || reply->at + n > reply->ahead_at + reply->ahead_n) {
        (void)nest__await_work(s, files_read_work, reply);
        if (reply->ahead_n < n) {
            return files_reply_cut(s, reply, (int)reply->result);
        }
    }
    return nest_reply_bytes(s, reply->ahead + (reply->at - reply->ahead_at), n);
}

/* Queues the next n bytes in one item, so that the trace does not depend on how they are sent.
 * Returns 0 or -1. */
static int files_reply_piece(nest_session *s, struct files_reply *reply, size_t n) {
    uint8_t *p;
    uint64_t limit = nest__config.output_buffer;
    if (nest__out_queued(s, &s->c0) + n > limit &&
        nest__await_output(s, n < limit ? limit - n : 0) < 0) {
        return -1;
    }
    bool ahead = reply->at >= reply->ahead_at && reply->at < reply->ahead_at + reply->ahead_n;
    if (!ahead) {
        int64_t room = nest__out_space(s, n, &p);
        if (room < 0) {
            return -1;
        }
        int64_t got =
            (uint64_t)room < n ? -EAGAIN : nest__file_read(reply->fd, p, n, reply->at, true);
        if (got == (int64_t)n) {
            nest__on_reply(s, p, n);
            nest__on_replied(s, 1, n);
            nest__out_added(s, n);
            return 0;
        }
    }
    return files_reply_cold(s, reply, n); /* if the file is too short, this fails as well */
}

/* Sends contents that are in memory without a copy, as long as the client accepts them. The queue,
 * which can wait, sends the rest. Returns 0 or -1. */
static int files_reply_direct(nest_session *s, struct files_reply *reply) {
    while (reply->left >= FILES_DIRECT) {
        uint64_t n = reply->left < NEST__VISIT_OUT ? reply->left : NEST__VISIT_OUT;
        s->c0.state |= NEST__CHAN_AHEAD;
        int error = nest__push(s, &s->c0);
        s->c0.state &= (uint8_t)~NEST__CHAN_AHEAD;
        if (error < 0) {
            return nest__cut_short(s, error);
        }
        if (nest__await_output(s, 0) < 0) {
            return -1;
        }
        if (!nest__file_resident(reply->fd, reply->at, n)) {
            return 0;
        }
        int64_t sent = nest__send_file(s, &s->c0, reply->fd, reply->at, n);
        if (sent == -EAGAIN) {
            return 0;
        }
        if (sent == -ECONNRESET) {
            return nest__cut_short(s, -ECONNRESET);
        }
        if (sent <= 0) {
            return files_reply_cut(s, reply, (int)sent);
        }
        nest__on_file(s, reply->fd, reply->at, (uint64_t)sent);
        nest__out_passed(s, (uint64_t)sent);
        reply->at += (uint64_t)sent;
        reply->left -= (uint64_t)sent;
        if ((uint64_t)sent < n) {
            return 0;
        }
    }
    return 0;
}

static int64_t files_reply(nest_session *s, const char *path, const nest_file *file,
                           uint64_t offset, uint64_t length) {
    uint64_t there = offset < file->size ? file->size - offset : 0;
    uint64_t whole = length < there ? length : there;
    struct files_reply reply = {.path = path, .fd = file->fd, .at = offset, .left = whole};
    size_t piece =
        nest__config.output_buffer < FILES_PIECE ? nest__config.output_buffer : (size_t)FILES_PIECE;
    size_t n = piece - piece / 4; /* the first piece leaves space for output before the file */
    int result = files_reply_direct(s, &reply);
    while (reply.left > 0 && result == 0) {
        n = reply.left < n ? (size_t)reply.left : n;
        result = files_reply_piece(s, &reply, n);
        reply.at += n;
        reply.left -= n;
        n = piece;
        if (result == 0) {
            result = files_reply_direct(s, &reply);
        }
    }
    int error = errno;
    free(reply.ahead);
    errno = error;
    return result < 0 ? -1 : (int64_t)whole;
}

__attribute__((noinline)) static int64_t files_reply_path(nest_session *s, const char *path,
                                                          uint64_t offset, uint64_t length) {
    nest_file file;
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    int error = nest__files_find(s, path, &file);
    if (error < 0) {
        return files_failed(error);
    }
    int64_t result = -1;
    if (S_ISDIR(file.mode)) {
        errno = EISDIR;
    } else {
        result = files_reply(s, path, &file, offset, length);
    }
    error = errno;
    nest__file_close(file.fd);
    errno = error;
    return result;
}

int64_t nest_file_reply_path(nest_session *s, const char *path, uint64_t offset, uint64_t length) {
    struct nest__trip *trip = nest__at_home(s);
    int64_t result = files_reply_path(s, path, offset, length);
    nest__from_home(trip);
    return result;
}

int nest__files_opened(const nest_session *s, const nest_file *file) {
    const struct nest__opened *entry = s->work == NULL ? NULL : s->work->services.files.first;
    while (entry != NULL && entry->fd != file->fd) {
        entry = entry->next;
    }
    return entry == NULL ? -EBADF : S_ISDIR(file->mode) ? -EISDIR : 0;
}

__attribute__((noinline)) static int64_t files_reply_open(nest_session *s, nest_file *file,
                                                          uint64_t offset, uint64_t length) {
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    int error = nest__files_opened(s, file);
    return error < 0 ? files_failed(error) : files_reply(s, NULL, file, offset, length);
}

int64_t nest_file_reply_open(nest_session *s, nest_file *file, uint64_t offset, uint64_t length) {
    struct nest__trip *trip = nest__at_home(s);
    int64_t result = files_reply_open(s, file, offset, length);
    nest__from_home(trip);
    return result;
}

/* -- receive */

enum files_steps { FILES_WRITE = 1, FILES_COMMIT = 2, FILES_ABANDON = 4 };
struct files_receipt {
    const char *path;
    struct nest__upload
        *upload; /* NULL before the first step, after the last, and after a failure */
    const uint8_t *bytes;
    size_t n;
    unsigned steps; /* to do now */
    bool sync;
    int error; /* 0 or -errno, of the file */
};

/* The first step also begins the file. After a failure no file remains. */
static int files_receive_work(void *arg) {
    struct files_receipt *receipt = arg;
    if ((receipt->steps & FILES_ABANDON) == 0 && receipt->upload == NULL) {
        receipt->error = nest__upload_begin(receipt->path, &receipt->upload);
        if (receipt->error < 0) {
            return 0;
        }
    }
    if ((receipt->steps & FILES_WRITE) != 0) {
        receipt->error = nest__upload_write(receipt->upload, receipt->bytes, receipt->n);
    }
    if (receipt->error < 0 || (receipt->steps & FILES_ABANDON) != 0) {
        nest__upload_abandon(receipt->upload);
        receipt->upload = NULL;
    } else if ((receipt->steps & FILES_COMMIT) != 0) {
        receipt->error = nest__upload_commit(receipt->upload, receipt->sync);
        receipt->upload = NULL;
    }
    return 0;
}

static void files_receive_step(nest_session *s, struct files_receipt *receipt, unsigned steps) {
    receipt->steps = steps;
    (void)nest__await_work(s, files_receive_work, receipt);
}

/* Consumes `length` bytes, and writes them until the file fails. Returns how many arrived; -1: the
 * connection has failed. */
static int64_t files_receive(nest_session *s, struct files_receipt *receipt, uint64_t length,
                             uint8_t *buffer, size_t room) {
    uint64_t taken = 0;
    bool more = true;
    receipt->bytes = buffer;
    while (more && taken < length) {
        size_t want = length - taken < room ? (size_t)(length - taken) : room;
        long n = receipt->error == 0 ? nest_read_into(s, buffer, want) : nest_skip(s, want);
        if (n < 0) {
            return -1;
        }
        more = (size_t)n == want;
        taken += (uint64_t)n;
        receipt->n = (size_t)n;
        if (receipt->error == 0 && n > 0) {
            bool last = taken == length && !receipt->sync;
            files_receive_step(s, receipt, FILES_WRITE | (last ? FILES_COMMIT : 0u));
        }
    }
    if (receipt->error == 0 && taken < length && length != NEST_WHOLE) {
        receipt->error = -EPIPE;
    }
    return (int64_t)taken;
}

__attribute__((noinline)) static int64_t files_receive_path(nest_session *s, const char *path,
                                                            uint64_t length, unsigned flags) {
    struct files_receipt receipt = {.path = path == NULL ? "" : path,
                                    .sync = (flags & NEST_SYNC) != 0};
    if (nest__input_fails(s)) {
        return -1;
    }
    if ((flags & ~NEST_SYNC) != 0) {
        return files_failed(-EINVAL);
    }
    size_t room = length < FILES_RECEIVED ? (size_t)length + 1 : FILES_RECEIVED;
    uint8_t *buffer = malloc(room);
    if (buffer == NULL) {
        receipt.error = -ENOMEM;
    }
    int64_t taken = files_receive(s, &receipt, length, buffer, room);
    int error = errno;
    free(buffer);
    bool whole = taken >= 0 && receipt.error == 0;
    if (receipt.upload != NULL && !whole) {
        files_receive_step(s, &receipt, FILES_ABANDON);
    } else if (whole && (receipt.upload != NULL || taken == 0)) {
        if (receipt.sync && receipt.upload != NULL) {
            nest__upload_offer(receipt.upload); /* an earlier commit may include it */
        }
        files_receive_step(s, &receipt, FILES_COMMIT);
    }
    if (taken < 0) {
        errno = error;
        return -1;
    }
    return receipt.error < 0 ? files_failed(receipt.error) : taken;
}

int64_t nest_file_receive(nest_session *s, const char *path, uint64_t length, unsigned flags) {
    struct nest__trip *trip = nest__at_home(s);
    int64_t result = files_receive_path(s, path, length, flags);
    nest__from_home(trip);
    return result;
}
