/* uploads.c: a file that actions write piece by piece, and that is seen whole or not at all.
 *
 * Called by actions. State: the connection's upload, one at most, which outlives the action that
 * began it; files.c drops it when the connection ends. Small pieces are gathered, so that a line
 * costs no system call; what reaches the disk is done as NEST__WORK. Must not know how a file comes
 * to its place. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>

uint64_t nest__uploads_memory(void) {
    return sizeof(nest_upload);
}

static int uploads_failed(int error) {
    errno = -error;
    return -1;
}

/* Whether it is this connection's: what is committed or dropped may still be called by its name. */
static bool uploads_known(const nest_session *s, const nest_upload *upload) {
    return upload != NULL && s->work != NULL && s->work->upload == upload;
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
    int error = work != NULL && work->upload != NULL ? -EBUSY : -ENOMEM;
    if (work != NULL && work->upload == NULL) {
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
    work->upload = upload;
    return upload;
}

/* -- write */

/* What is gathered. After a failure nothing of the file is left, and nothing more is done. */
static int uploads_write_work(void *arg) {
    nest_upload *upload = arg;
    upload->error = nest__upload_write(upload->file, upload->bytes, upload->n);
    upload->n = 0;
    if (upload->error < 0) {
        nest__upload_abandon(upload->file);
        upload->file = NULL;
    }
    return 0;
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
        size_t piece = NEST__GATHERED - upload->n;
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
        nest__upload_offer(upload->file); /* who commits before takes it along */
        (void)nest__await_work(s, uploads_sync_work, upload);
    }
}

int nest_file_commit(nest_session *s, nest_upload *upload, unsigned flags) {
    bool fails = nest__fails(s, nest__acting(s));
    if (!uploads_known(s, upload)) {
        return fails ? nest__refuse(s) : uploads_failed(-EBADF);
    }
    if (fails) {
        nest__upload_drop(s);
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
    nest__upload_drop(s); /* of what is in its place only the record is left */
    return error < 0 ? uploads_failed(error) : 0;
}

void nest_file_drop(nest_session *s, nest_upload *upload) {
    if (uploads_known(s, upload)) {
        nest__upload_drop(s);
    }
}
