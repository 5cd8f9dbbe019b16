/* uploads.c: a file that actions write piece by piece, and that appears when it is complete.
 *
 * Called by actions and at join points. State: the connection's upload, at most one, in the
 * session's work block. It outlives the action that began it, and is dropped when END has run.
 * Small pieces are buffered, so that a line costs no system call. Calls that may wait for the disk
 * are made as NEST__WORK. Must not know how a file gets its name. */
#include "uploads.h"
#include "../../engine/engine.h"
#include "../../file/access.h"

#include <errno.h>
#include <stdlib.h>

enum {
    UPLOADS_GATHERED = 16 * 1024, /* bytes that are buffered */
    UPLOADS_DESCRIPTORS = 2       /* the file, and the directory of its name */
};

struct nest_upload {           /* begun by nest_file_create; a helper thread may write it */
    struct nest__upload *file; /* NULL: it could not be begun, or `error` has ended it */
    int error;                 /* 0 or -errno: the first failure; all later calls fail with it */
    uint32_t n;                /* buffered bytes */
    uint8_t bytes[UPLOADS_GATHERED];
};

struct nest__need nest__uploads_need(void) {
    return (struct nest__need){"an upload", NULL, sizeof(nest_upload), sizeof(nest_upload)};
}

/* An upload stays open between actions. */
unsigned nest__uploads_descriptors(bool most) {
    (void)most;
    return UPLOADS_DESCRIPTORS;
}

bool nest__uploads_holds(const struct nest__work *work) {
    return work->services.uploads.own != NULL;
}

static int uploads_failed(int error) {
    errno = -error;
    return -1;
}

/* Whether it is this connection's upload. An action may still have a pointer to an ended one. */
static bool uploads_known(const nest_session *s, const nest_upload *upload) {
    return upload != NULL && s->work != NULL && s->work->services.uploads.own == upload;
}

static int uploads_drop_work(void *arg) {
    nest__upload_abandon(arg);
    return 0;
}

/* Drops the connection's upload, which must exist. */
static void uploads_drop(nest_session *s) {
    nest_upload *upload = s->work->services.uploads.own;
    int error = errno;
    s->work->services.uploads.own = NULL;
    s->work->services.files.fresh = false;
    if (upload->file != NULL) { /* freeing its blocks may wait for the disk */
        (void)nest__await_work(s, uploads_drop_work, upload->file);
    }
    free(upload);
    errno = error;
}

void nest__uploads_leave(nest_session *s) {
    if (s->reason != NEST_OPEN && s->work->services.uploads.own != NULL) { /* END has run */
        uploads_drop(s);
    }
}

/* -- create */

struct uploads_beginning {
    const char *path;
    nest_upload *upload;
};

static int uploads_begin_work(void *arg) {
    const struct uploads_beginning *beginning = arg;
    return nest__upload_begin(beginning->path, &beginning->upload->file);
}

nest_upload *nest_file_create(nest_session *s, const char *path) {
    if (nest__fails(s, nest__acting(s))) {
        nest__refuse(s);
        return NULL;
    }
    struct nest__work *work = nest__borrow(s);
    nest_upload *upload = NULL;
    int error = work != NULL && work->services.uploads.own != NULL ? -EBUSY : -ENOMEM;
    if (work != NULL && work->services.uploads.own == NULL) {
        upload = malloc(sizeof *upload);
    }
    if (upload != NULL) {
        upload->file = NULL;
        upload->error = 0;
        upload->n = 0;
        struct uploads_beginning beginning = {path == NULL ? "" : path, upload};
        error = nest__await_work(s, uploads_begin_work, &beginning);
    }
    if (error < 0) {
        free(upload);
        errno = -error;
        return NULL;
    }
    work->services.uploads.own = upload;
    work->services.files.fresh = true; /* $fileCommit compares with the file that is there now */
    return upload;
}

/* -- write */

/* Writes the buffer, and then n bytes at p. After a failure no file remains, and later calls do
 * nothing. */
static int uploads_write_both(nest_upload *upload, const uint8_t *p, size_t n) {
    upload->error = nest__upload_write(upload->file, upload->bytes, upload->n);
    upload->n = 0;
    if (upload->error == 0) {
        upload->error = nest__upload_write(upload->file, p, n);
    }
    if (upload->error < 0) {
        nest__upload_abandon(upload->file);
        upload->file = NULL;
    }
    return 0;
}

static int uploads_write_work(void *arg) {
    return uploads_write_both(arg, NULL, 0);
}

struct uploads_piece {
    nest_upload *upload;
    const uint8_t *p;
    size_t n;
    struct nest__uploads_more *more;
};

static int uploads_piece_work(void *arg) {
    struct uploads_piece *piece = arg;
    int64_t n = (int64_t)piece->n;
    while (n > 0 && piece->upload->error == 0) {
        uploads_write_both(piece->upload, piece->p, (size_t)n);
        n = piece->upload->error == 0 ? piece->more->next(piece->more, &piece->p) : 0;
    }
    return 0;
}

int nest__uploads_write(nest_session *s, nest_upload *upload, const uint8_t *p, size_t n,
                        struct nest__uploads_more *more) {
    if (nest__fails(s, nest__acting(s)) || !uploads_known(s, upload) ||
        n <= UPLOADS_GATHERED - upload->n) {
        return nest_file_write(s, upload, p, n);
    }
    if (upload->error == 0) {
        struct uploads_piece piece = {upload, p, n, more};
        (void)nest__await_work(s, uploads_piece_work, &piece);
    }
    return upload->error < 0 ? uploads_failed(upload->error) : 0;
}

int nest_file_write(nest_session *s, nest_upload *upload, const void *p, size_t n) {
    struct nest__action *action = nest__acting(s);
    const uint8_t *message = action == NULL ? NULL : action->message.p;
    if (nest__fails(s, action)) {
        return nest__refuse(s);
    }
    if (!uploads_known(s, upload)) {
        return uploads_failed(-EBADF);
    }
    for (size_t done = 0; done < n && upload->error == 0;) {
        size_t piece = UPLOADS_GATHERED - upload->n;
        piece = piece < n - done ? piece : n - done;
        if (piece == 0) {
            (void)nest__await_work(s, uploads_write_work, upload);
            continue;
        }
        memcpy(upload->bytes + upload->n, nest__source(action, message, p) + done, piece);
        upload->n += (uint32_t)piece;
        done += piece;
    }
    return upload->error < 0 ? uploads_failed(upload->error) : 0;
}

/* -- commit, drop */

static int uploads_commit_work(void *arg) {
    nest_upload *upload = arg;
    if (upload->n > 0) {
        uploads_write_work(upload);
    }
    if (upload->error == 0) {
        upload->error = nest__upload_commit(upload->file, false);
        upload->file = NULL;
    }
    return 0;
}

static int uploads_sync_work(void *arg) {
    nest_upload *upload = arg;
    upload->error = nest__upload_commit(upload->file, true);
    upload->file = NULL;
    return 0;
}

static void uploads_sync(nest_session *s, nest_upload *upload) {
    if (upload->n > 0) {
        (void)nest__await_work(s, uploads_write_work, upload);
    }
    if (upload->error == 0) {
        nest__upload_offer(upload->file); /* an earlier commit may include it */
        (void)nest__await_work(s, uploads_sync_work, upload);
    }
}

int nest_file_commit(nest_session *s, nest_upload *upload, unsigned flags) {
    bool fails = nest__fails(s, nest__acting(s));
    if (!uploads_known(s, upload)) {
        return fails ? nest__refuse(s) : uploads_failed(-EBADF);
    }
    if (fails) {
        uploads_drop(s);
        return nest__refuse(s);
    }
    if (upload->error == 0 && (flags & ~(NEST_SYNC | NEST_UNCHANGED)) != 0) {
        upload->error = -EINVAL;
    }
    if (upload->error == 0 && (flags & NEST_UNCHANGED) != 0) {
        nest__upload_guard(upload->file);
    }
    if (upload->error == 0 && (flags & NEST_SYNC) != 0) {
        uploads_sync(s, upload);
    } else if (upload->error == 0) {
        (void)nest__await_work(s, uploads_commit_work, upload);
    }
    int error = upload->error;
    uploads_drop(s); /* after a commit only the record is left */
    return error < 0 ? uploads_failed(error) : 0;
}

void nest_file_drop(nest_session *s, nest_upload *upload) {
    if (uploads_known(s, upload)) {
        uploads_drop(s);
    }
}
