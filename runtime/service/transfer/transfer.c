/* transfer.c: files go to second connections of a session, and come from them.
 *
 * Called by actions. No state: a buffer lives as long as the call. Contents that are in memory are
 * sent without a copy, as far as the other side takes them. Must not know how files are found, how
 * bytes move, nor which thread waits for a disk. */
#include "transfer.h"
#include "../../engine/second.h"
#include "../../file/access.h"
#include "../files/files.h"
#include "../uploads/uploads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    TRANSFER_LARGE = 256 * 1024,  /* of a client that fills a piece: TCP acknowledges less often */
    TRANSFER_PIECE = 64 * 1024,   /* bytes of a file that are copied at a time */
    TRANSFER_DIRECT = 8 * 1024,   /* from this size on a copy costs more than two calls */
    TRANSFER_SOON = 1024 * 1024,  /* read ahead meanwhile */
    TRANSFER_ASKED = 1024 * 1024, /* whether they are in memory is asked once */
    TRANSFER_ALONG = 1024 * 1024, /* received by the thread that writes, before others have a say */
    TRANSFER_STEP = 4 * 1024 /* copied to wait for space: what follows begins at a page again */
};

static int transfer_fail(int error) {
    errno = error;
    return -1;
}

/* One directive runs at a time. */
struct nest__need nest__transfer_need(void) {
    return (struct nest__need){"a transfer", NULL, TRANSFER_PIECE, TRANSFER_LARGE};
}

/* -- waiting */

/* Until at most `mark` bytes are queued; with NEST_UNTIL_INPUT, or the client says something. 0; 1:
 * the client has said something; -1 and errno. */
static int transfer_drain(nest_session *s, struct nest__further *further, uint64_t mark,
                          unsigned flags) {
    if ((flags & NEST_UNTIL_INPUT) != 0) {
        if (nest_pending(s)) {
            return 1;
        }
        if (further->out.queue.n > 0 && nest__push(s, &further->chan) < 0) {
            return nest__second_gone(s, further);
        }
        if (further->out.queue.n > mark) {
            struct nest__member member = {.chan = &further->chan, .drains = true, .mark = mark};
            int said = nest__second_beside_client(s, &member, 0);
            if (said != 0) {
                return said;
            }
            if ((further->chan.state & NEST__CHAN_CUT) != 0) {
                return transfer_fail(ETIMEDOUT);
            }
            if (member.got < 0) {
                return nest__second_gone(s, further);
            }
        }
    }
    return nest__channel_drain(s, further, mark); /* others may have a turn here */
}

__attribute__((noinline)) static int transfer_drain_to(nest_session *s, int handle,
                                                       unsigned flags) {
    struct nest__further *further = nest__second_output(s, handle);
    return further == NULL ? -1 : transfer_drain(s, further, 0, flags);
}

int nest_drain_to(nest_session *s, int handle, unsigned flags) {
    struct nest__trip *trip = nest__at_home(s);
    int result = transfer_drain_to(s, handle, flags);
    nest__from_home(trip);
    return result;
}

/* -- a file is sent */

struct transfer {
    int fd;
    uint64_t at, left;
    uint64_t resident; /* the file was in memory up to here when it was asked */
    uint8_t *buffer;   /* NULL: none yet */
    size_t n;          /* bytes that are wanted there */
    int64_t got;       /* and that were read; -errno */
    bool full;         /* the connection takes no more without a wait */
    bool stepped;      /* since bytes were sent without a copy, few were queued to wait for space */
};

/* Reads n bytes, or what the file has. */
static int transfer_read_work(void *arg) {
    struct transfer *transfer = arg;
    int64_t got;
    transfer->got = 0;
    do {
        size_t done = (size_t)transfer->got;
        got = nest__file_read(transfer->fd, transfer->buffer + done, transfer->n - done,
                              transfer->at + done, false);
        transfer->got += got > 0 ? got : 0;
    } while (got > 0 && (size_t)transfer->got < transfer->n);
    if (got < 0) {
        transfer->got = got;
    } else if (transfer->left > transfer->n) {
        nest__file_ahead(transfer->fd, transfer->at + transfer->n, TRANSFER_SOON);
    }
    return 0;
}

/* The file has not what was promised. What was sent must not look complete. */
static int transfer_cut(nest_session *s, struct nest__further *further, int64_t got) {
    nest__chan_lost(s, &further->chan, NEST__CHAN_CUT);
    return transfer_fail(got < 0 ? (int)-got : EIO);
}

/* Queues the next bytes. How many; -1 and errno. */
static int64_t transfer_copy(nest_session *s, int handle, struct nest__further *further,
                             struct transfer *transfer) {
    uint64_t most =
        nest__config.output_buffer < TRANSFER_PIECE ? nest__config.output_buffer : TRANSFER_PIECE;
    if (transfer->full) {
        uint64_t step = TRANSFER_STEP - transfer->at % TRANSFER_STEP;
        most = step < most ? step : most;
    }
    transfer->stepped = transfer->full;
    transfer->full = false;
    transfer->n = transfer->left < most ? (size_t)transfer->left : (size_t)most;
    transfer->buffer = transfer->buffer == NULL ? malloc(TRANSFER_PIECE) : transfer->buffer;
    if (transfer->buffer == NULL) {
        return transfer_cut(s, further, -ENOMEM);
    }
    transfer->got =
        nest__file_read(transfer->fd, transfer->buffer, transfer->n, transfer->at, true);
    if (transfer->got != (int64_t)transfer->n) {
        (void)nest__await_work(s, transfer_read_work, transfer);
    }
    if (transfer->got != (int64_t)transfer->n) {
        return transfer_cut(s, further, transfer->got < 0 ? transfer->got : 0);
    }
    int error = nest_reply_bytes_to(s, handle, transfer->buffer, transfer->n);
    return error < 0 ? -1 : (int64_t)transfer->n;
}

/* Whether the next n bytes are in memory. The system walks over their pages to say so, and a
 * connection takes few of them at a time: it is asked for many at once. */
static bool transfer_resident(struct transfer *transfer, uint64_t n) {
    if (transfer->at + n > transfer->resident) {
        uint64_t many = transfer->left < TRANSFER_ASKED ? transfer->left : TRANSFER_ASKED;
        if (many > n && !nest__file_resident(transfer->fd, transfer->at, many)) {
            many = n;
        }
        if (many == n && !nest__file_resident(transfer->fd, transfer->at, n)) {
            return false;
        }
        transfer->resident = transfer->at + many;
    }
    return true;
}

/* Sends the next bytes without a copy. How many; 0: this is not possible now; -1 and errno. */
static int64_t transfer_direct(nest_session *s, struct nest__further *further,
                               struct transfer *transfer) {
    uint64_t n = transfer->left < NEST__VISIT_OUT ? transfer->left : NEST__VISIT_OUT;
    if (n < TRANSFER_DIRECT || transfer->full || further->out.queue.n > 0 ||
        !transfer_resident(transfer, n)) {
        return 0;
    }
    int64_t sent = nest__send_file(s, &further->chan, transfer->fd, transfer->at, n);
    if (sent == -ECONNRESET) {
        return nest__second_gone(s, further);
    }
    if (sent <= 0 && sent != -EAGAIN) {
        return transfer_cut(s, further, sent);
    }
    /* If nothing is sent after a wait for space, the file cannot be sent so. */
    bool full = sent == -EAGAIN ? !transfer->stepped : (uint64_t)sent < n;
    transfer->full = full && !nest__chan_apart(&further->chan);
    transfer->stepped = transfer->stepped && sent == -EAGAIN;
    further->out.sent += sent > 0 ? (uint64_t)sent : 0;
    return sent > 0 ? sent : 0;
}

static int64_t transfer_send(nest_session *s, int handle, const nest_file *file, uint64_t offset,
                             uint64_t length, unsigned flags) {
    struct nest__further *further = nest__second_output(s, handle);
    uint64_t there = offset < file->size ? file->size - offset : 0;
    uint64_t whole = length < there ? length : there;
    struct transfer transfer = {.fd = file->fd, .at = offset, .left = whole};
    int64_t sent = further == NULL ? -1 : 0;
    int said = 0;
    while (sent >= 0 && said == 0 && transfer.left > 0) {
        said = transfer_drain(s, further, 0, flags);
        sent = said != 0 ? 0 : transfer_direct(s, further, &transfer);
        if (sent == 0 && said == 0) {
            sent = transfer_copy(s, handle, further, &transfer);
        }
        transfer.at += sent > 0 ? (uint64_t)sent : 0;
        transfer.left -= sent > 0 ? (uint64_t)sent : 0;
    }
    int error = errno;
    free(transfer.buffer);
    errno = error;
    return sent < 0 || said < 0 ? -1 : (int64_t)(whole - transfer.left);
}

__attribute__((noinline)) static int64_t
transfer_file_reply_to_path(nest_session *s, int handle, const char *path, uint64_t offset,
                            uint64_t length, unsigned flags) {
    nest_file file;
    if (nest__second_output(s, handle) == NULL) {
        return -1;
    }
    int error = nest__files_find(s, path, &file);
    if (error < 0) {
        return transfer_fail(-error);
    }
    int64_t result = -1;
    if (S_ISDIR(file.mode)) {
        errno = EISDIR;
    } else {
        result = transfer_send(s, handle, &file, offset, length, flags);
    }
    error = errno;
    nest__file_close(file.fd);
    errno = error;
    return result;
}

int64_t nest_file_reply_to_path(nest_session *s, int handle, const char *path, uint64_t offset,
                                uint64_t length, unsigned flags) {
    struct nest__trip *trip = nest__at_home(s);
    int64_t result = transfer_file_reply_to_path(s, handle, path, offset, length, flags);
    nest__from_home(trip);
    return result;
}

__attribute__((noinline)) static int64_t
transfer_file_reply_to_open(nest_session *s, int handle, nest_file *file, uint64_t offset,
                            uint64_t length, unsigned flags) {
    if (nest__second_output(s, handle) == NULL) {
        return -1;
    }
    int error = nest__files_opened(s, file);
    return error < 0 ? transfer_fail(-error)
                     : transfer_send(s, handle, file, offset, length, flags);
}

int64_t nest_file_reply_to_open(nest_session *s, int handle, nest_file *file, uint64_t offset,
                                uint64_t length, unsigned flags) {
    struct nest__trip *trip = nest__at_home(s);
    int64_t result = transfer_file_reply_to_open(s, handle, file, offset, length, flags);
    nest__from_home(trip);
    return result;
}

/* -- a file is received */

/* Receives what has come, at most n bytes. How many; 0: end of file; -1 and errno; *said: nothing,
 * and the client has said something. */
static int64_t transfer_receive(nest_session *s, struct nest__further *further, uint8_t *to,
                                size_t n, unsigned flags, bool *said) {
    size_t some = nest__second_copy(further, to, n);
    uint32_t until = nest__second_read_until(further);
    if (some > 0 || (further->chan.state & NEST__CHAN_EOF) != 0) {
        return (int64_t)some;
    }
    if ((flags & NEST_UNTIL_INPUT) == 0) {
        struct nest__wait wait = {
            .what = NEST__INPUT, .into = to, .room = (uint32_t)n, .deadline = until};
        return nest__channel_wait(s, further, wait);
    }
    struct nest__member member = {.chan = &further->chan, .into = to, .room = (uint32_t)n};
    int result = nest__second_beside_client(s, &member, until);
    *said = result > 0;
    if (result != 0) {
        return result < 0 ? -1 : 0;
    }
    return member.got < 0 ? nest__second_gone(s, further) : member.got;
}

/* What comes while received bytes are written: the thread that writes receives it, and writes it as
 * well. So a client that is as fast as the disk costs few changes of threads. */
struct transfer_along {
    struct nest__uploads_more more; /* the first member */
    const struct nest__chan *chan;
    uint8_t *buffer;
    size_t room;
    uint64_t taken, most; /* bytes that it has received, and may receive */
    int64_t got;          /* of the last receive; 1 before the first */
};

static int64_t transfer_next(struct nest__uploads_more *more, const uint8_t **p) {
    struct transfer_along *along = (struct transfer_along *)(void *)more;
    uint64_t left = along->most - along->taken;
    size_t n = left < along->room ? (size_t)left : along->room;
    if (n == 0) {
        return 0;
    }
    along->got = nest__chan_receive(along->chan, along->buffer, n, NEST__CHAN_NOW);
    along->taken += along->got > 0 ? (uint64_t)along->got : 0;
    *p = along->buffer;
    return along->got;
}

struct transfer_buffer {
    uint8_t *p;
    size_t room;
};

/* For a client that has filled the first one. Without memory that one stays. */
static void transfer_enlarge(struct transfer_buffer *buffer) {
    uint8_t *large = buffer->room == TRANSFER_LARGE ? NULL : malloc(TRANSFER_LARGE);
    if (large != NULL) {
        free(buffer->p);
        *buffer = (struct transfer_buffer){large, TRANSFER_LARGE};
    }
}

/* Writes what was received, n bytes of the buffer, and what comes meanwhile: at most `most` bytes
 * in all. How many; -1 and errno. */
static int64_t transfer_write(nest_session *s, struct nest__further *further, nest_upload *upload,
                              const struct transfer_buffer *buffer, size_t n, uint64_t most) {
    struct nest__chan *chan = &further->chan;
    bool left = further->in_n > 0 || (chan->state & NEST__CHAN_EOF) != 0 ||
                nest__chan_apart(chan) || nest__received_ahead(chan);
    uint64_t along = most - n < TRANSFER_ALONG ? most - n : TRANSFER_ALONG;
    struct transfer_along rest = {.more = {transfer_next},
                                  .chan = chan,
                                  .buffer = buffer->p,
                                  .room = buffer->room,
                                  .most = left ? 0 : along,
                                  .got = 1};
    if (nest__uploads_write(s, upload, buffer->p, n, &rest.more) < 0) {
        return -1;
    }
    if (rest.got < 0 && rest.got != -EAGAIN && rest.got != -EINTR) {
        return nest__second_gone(s, further);
    }
    if (rest.got == 0) {
        chan->state |= NEST__CHAN_EOF;
    } else if (rest.got < 0 || rest.taken > 0) {
        nest__chan_received(chan, rest.got > 0);
    }
    return (int64_t)(n + rest.taken);
}

__attribute__((noinline)) static int64_t
transfer_file_receive_from_upload(nest_session *s, int handle, nest_upload *upload, uint64_t length,
                                  unsigned flags) {
    struct nest__further *further = nest__second_input(s, handle);
    if (further == NULL || nest__channel_drain(s, further, 0) < 0) {
        return -1;
    }
    struct transfer_buffer buffer = {malloc(TRANSFER_PIECE), TRANSFER_PIECE};
    if (buffer.p == NULL) {
        return transfer_fail(ENOMEM);
    }
    uint64_t taken = 0;
    int64_t n = 1;
    bool said = false;
    while (n > 0 && taken < length) {
        size_t want = length - taken < buffer.room ? (size_t)(length - taken) : buffer.room;
        n = transfer_receive(s, further, buffer.p, want, flags, &said);
        bool full = n >= TRANSFER_PIECE;
        if (n > 0) {
            n = transfer_write(s, further, upload, &buffer, (size_t)n, length - taken);
            taken += n > 0 ? (uint64_t)n : 0;
        }
        if (full && n > 0) {
            transfer_enlarge(&buffer);
        }
    }
    int error = errno;
    free(buffer.p);
    errno = n < 0 ? error : said ? EINTR : 0;
    return n < 0 ? -1 : (int64_t)taken;
}

int64_t nest_file_receive_from_upload(nest_session *s, int handle, nest_upload *upload,
                                      uint64_t length, unsigned flags) {
    struct nest__trip *trip = nest__at_home(s);
    int64_t result = transfer_file_receive_from_upload(s, handle, upload, length, flags);
    nest__from_home(trip);
    return result;
}

__attribute__((noinline)) static int64_t
transfer_file_receive_from_path(nest_session *s, int handle, const char *path, uint64_t length,
                                unsigned flags) {
    if (nest__second_input(s, handle) == NULL) {
        return -1;
    }
    if ((flags & ~NEST_SYNC) != 0) {
        return transfer_fail(EINVAL);
    }
    nest_upload *upload = nest_file_create(s, path);
    if (upload == NULL) {
        return -1;
    }
    int64_t taken = nest_file_receive_from_upload(s, handle, upload, length, 0);
    if (taken >= 0 && length != NEST_WHOLE && (uint64_t)taken < length) {
        errno = EPIPE;
        taken = -1;
    }
    if (taken < 0) {
        nest_file_drop(s, upload);
        return -1;
    }
    return nest_file_commit(s, upload, flags) < 0 ? -1 : taken;
}

int64_t nest_file_receive_from_path(nest_session *s, int handle, const char *path, uint64_t length,
                                    unsigned flags) {
    struct nest__trip *trip = nest__at_home(s);
    int64_t result = transfer_file_receive_from_path(s, handle, path, length, flags);
    nest__from_home(trip);
    return result;
}
