/* nest.h: everything a directive does, for C helpers that were given `$self`.
 *
 * Actions use it through directives; other C files of the same server may include it directly.
 * It declares `nest_` names only and includes nothing but standard headers, so that a user's
 * macros and the runtime's never meet. A session may be used only by the action that was given
 * it, until that action ends, and on the thread that runs it. */
#ifndef NEST_H
#define NEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NEST_FORMAT(at, first) __attribute__((__format__(__printf__, at, first)))
#else
#define NEST_FORMAT(at, first)
#endif

typedef struct nest_session nest_session;

/* Why a connection ends; `$reason()`. NEST_OPEN while it does not. */
enum nest_reason {
    NEST_OPEN,
    NEST_CLOSED,   /* the action said $close() */
    NEST_EOF,      /* the client closed, between messages */
    NEST_GONE,     /* reset, or an error on the connection */
    NEST_INPUT,    /* no rule matches what came */
    NEST_STUCK,    /* no rule is active */
    NEST_OVERFLOW, /* inputBuffer bytes, and still undecided */
    NEST_TIMEOUT,
    NEST_SHUTDOWN, /* the server stops */
    NEST_OVERLOAD,
    NEST_REASONS
};

enum nest_level { NEST_ERROR, NEST_WARN, NEST_INFO, NEST_DEBUG };

/* Bytes that somebody else owns. */
typedef struct nest_bytes {
    const void *p;
    size_t n;
} nest_bytes;

/* -- output ------------------------------------------------------------------------------------
 * All queue; they wait while more than outputBuffer is queued. 0, or -1 and errno: ECONNRESET
 * (the client is gone), ECANCELED (the server stops, or an earlier wait of this action was cut
 * short), ENOMEM. The memory is the caller's again when they return. */
int nest_reply(nest_session *, const char *text); /* NULL is nothing */
int nest_replyf(nest_session *, const char *format, ...) NEST_FORMAT(2, 3);
int nest_vreplyf(nest_session *, const char *format, va_list) NEST_FORMAT(2, 0);
int nest_reply_bytes(nest_session *, const void *, size_t);
int nest_reply_list(nest_session *, size_t count, const nest_bytes[]);
int nest_flush(nest_session *); /* send now what is queued, as far as the kernel takes it */

/* The bytes of a C string without its NUL; NULL is nothing. */
static inline nest_bytes nest_text(const char *text) {
    nest_bytes bytes = {text, text == NULL ? 0 : strlen(text)};
    return bytes;
}

/* -- input ---------------------------------------------------------------------------------------
 * Bytes behind the match, those that were received already first. They wait for the client: at most
 * idleTimeout (or what nest_timeout said) for the next byte; nest_read and nest_read_line, which
 * take a message whole, also at most readTimeout from its first byte. Short: errno ECONNRESET
 * (gone), ETIMEDOUT, ECANCELED (the server stops, or an earlier wait of this action was cut short),
 * ENOMEM; then the connection ends when the action has. End of file is no error of the connection:
 * errno is 0. In END, and after nest_close, they fail at once with ECANCELED. */
/* n bytes with a NUL behind them, until the next of these two or the action's end; NULL if they do
 * not come: nothing is taken. EMSGSIZE beyond inputBuffer. */
char *nest_read(nest_session *, size_t n);
/* Up to and without "\n" or "\r\n", at most `max` bytes before that, or what inputBuffer holds if
 * that is less; else EMSGSIZE, nothing taken. */
char *nest_read_line(nest_session *, size_t max);
/* n bytes into `to`, straight from the connection where they are many. How many: fewer than n only
 * at end of file; or -1. */
long nest_read_into(nest_session *, void *to, size_t n);
long nest_skip(nest_session *, size_t n); /* the same, dropped */
bool nest_pending(nest_session *);        /* input is waiting; never waits itself */

/* -- time ------------------------------------------------------------------------------------ */
/* This connection pauses, nobody else. 0, or -1 and errno as for input. */
int nest_sleep(nest_session *, uint32_t ms);
/* The idle limit of this connection from here on, in place of idleTimeout; 0: none. */
void nest_timeout(nest_session *, uint32_t ms);
bool nest_draining(nest_session *); /* the server is stopping */

/* -- files, beneath fileRoot: regular files only, and nothing outside, links included ---------- */
typedef struct nest_file {
    uint64_t size;         /* bytes */
    struct timespec mtime; /* of its last change */
    uint64_t inode;
    int32_t fd;    /* the runtime's; closed when the action ends */
    uint32_t mode; /* st_mode: kind and permissions */
} nest_file;
#define NEST_WHOLE UINT64_MAX /* as a length: all there is */
#define NEST_SYNC 1u          /* nest_file_receive, nest_file_commit return when it is on disk */
#define NEST_UNCHANGED 2u     /* nest_file_commit: only if its place has not changed */
/* Opens a file and says what it is: a regular file, or a directory (of which only `mode`, `mtime`
 * are of use). 0, or -1 and errno: ENOENT, EACCES, EXDEV (outside), ENXIO (neither), EMFILE, … */
int nest_file_open(nest_session *, const char *path, nest_file *);
/* Queues `length` bytes of a file from `offset` on, as far as it has them; waits like nest_reply
 * while more than outputBuffer is queued. How many bytes; or -1 and errno, with nothing queued, if
 * it cannot be opened (EISDIR: a directory). A file that shrinks under what was promised resets the
 * connection. */
int64_t nest_file_reply_path(nest_session *, const char *path, uint64_t offset, uint64_t length);
int64_t nest_file_reply_open(nest_session *, nest_file *, uint64_t offset, uint64_t length);
/* nest_file_reply(session, what, offset, length): `what` is a path, a nest_file or the address of
 * one. */
static inline int64_t nest_file_reply_value(nest_session *s, nest_file file, uint64_t offset,
                                            uint64_t length) {
    return nest_file_reply_open(s, &file, offset, length);
}
#ifndef __cplusplus /* C++ has overloads; they are at the end */
#define nest_file_reply(session, what, offset, length)                                             \
    _Generic((what),                                                                               \
        char *: nest_file_reply_path,                                                              \
        const char *: nest_file_reply_path,                                                        \
        nest_file *: nest_file_reply_open,                                                         \
        nest_file: nest_file_reply_value)(session, what, offset, length)
#endif
/* Receives `length` bytes (NEST_WHOLE: until end of file) into a file beneath fileRoot: written
 * beside it and then put in its place, so that who looks sees the old file or the new one. How many
 * bytes; or -1 and errno, with the old file as it was: as for input, ENOSPC, EACCES, EXDEV, …; of
 * these the bytes are taken all the same, so that the conversation stays in step. EPIPE: end of
 * file before `length`. (With NEST_SYNC it may be the new file if only its name was not synced.)
 */
int64_t nest_file_receive(nest_session *, const char *path, uint64_t length, unsigned flags);

/* A file that is written piece by piece, and put in its place when it is whole, as
 * nest_file_receive does. It outlives the action: a connection may have one at a time, and what it
 * neither commits nor drops is dropped behind its END. The first failure is that of all that
 * follow, the commit included. In END they work, unless the client is gone or was cut off. */
typedef struct nest_upload nest_upload;
/* Begins one. NULL and errno: EBUSY (there is one already), EACCES, EISDIR, ENOSPC, EXDEV, … */
nest_upload *nest_file_create(nest_session *, const char *path);
/* Appends. Small pieces are gathered, so that a failure may be told by a later write or by the
 * commit. 0, or -1 and errno; EBADF: not an upload of this connection, or no longer. */
int nest_file_write(nest_session *, nest_upload *, const void *, size_t);
/* Puts it in its place; with NEST_SYNC it returns when file and name are on disk. 0, or -1 and
 * errno, with the old file as it was (but as nest_file_receive with NEST_SYNC). It is gone either
 * way. With NEST_UNCHANGED (joined by |) it is ESTALE if what is in its place, a file or nothing,
 * is not what was there when it was begun; of several such uploads one succeeds. */
int nest_file_commit(nest_session *, nest_upload *, unsigned flags);
/* Gives it up: nothing is left. What is gone already, and NULL, is nothing. Keeps errno. */
void nest_file_drop(nest_session *, nest_upload *);
/* Deletes a regular file; of a link the link. 0, or -1 and errno: ENOENT, EISDIR, EACCES, EXDEV,
 * ENXIO (none of these), …. In END it works even if the client is gone. */
int nest_file_delete(nest_session *, const char *path);
typedef struct nest_entry {
    const char *name;      /* any bytes but '/' and NUL */
    uint64_t size;         /* bytes of a regular file, else 0 */
    struct timespec mtime; /* of its last change */
    uint32_t mode;         /* st_mode: kind and permissions; of a link, the link's */
} nest_entry;
typedef struct nest_files {
    size_t count;
    const nest_entry *entries; /* by name, byte for byte */
} nest_files;
/* What a directory holds, without ".", ".." and unfinished uploads; until the action ends. 0, or -1
 * and errno, and an empty list: ENOENT, ENOTDIR, EACCES, EXDEV, …; EOVERFLOW beyond 1 MB for all
 * lists of the action: of each entry its name, a NUL and sizeof(nest_entry). */
int nest_file_list(nest_session *, const char *path, nest_files *);

/* -- blocking code: what stands between runs on a helper thread in event servers, while this
 * connection waits and no other does. `$block { }`; of this file only nest_part, nest_length,
 * nest_bytes_at, nest_log, nest_id and nest_peer may be called in it. */
void nest_block_begin(nest_session *);
void nest_block_end(nest_session *);
static inline void nest_block_left(nest_session *const *block) { /* `$block`'s scope is left */
    nest_block_end(*block);
}
/* Where errno is, asked anew at each call. It differs between threads, and a block changes the
 * thread in the middle of a function, which compilers take for impossible: they ask once and keep
 * the address. So in servers with blocks errno in actions is this; a C file beside them that calls
 * nest_block_begin has it by
 *     #undef errno
 *     #define errno (*nest_errno()) */
int *nest_errno(void);

/* -- the match ---------------------------------------------------------------------------------
 * n: 0 is the whole match, 1.. the elements of the rule's pattern. Outside a pattern rule, or
 * beyond its last element, parts are empty. */
char *nest_part(nest_session *, unsigned n); /* writable, private, NUL-terminated, until the action
                                                ends; the same pointer each time */
size_t nest_length(nest_session *, unsigned n);
const char *nest_bytes_at(nest_session *, unsigned n);  /* in place, until the action next waits */
nest_bytes nest_part_bytes(nest_session *, unsigned n); /* the private copy if there is one, else in
                                                           place */
uint64_t nest_be(nest_session *, unsigned n);           /* its first 8 bytes at most, big-endian */
uint64_t nest_le(nest_session *, unsigned n);
/* What the compiler's own code is given of the message that an action runs for: lengths and places
 * of parts come of it without a call. Changes when the action waits. */
struct nest_message {
    const uint8_t *p;
    uint32_t n;
    const uint32_t *tags; /* where elements end, as far as it depends on the message */
};

/* -- states: by the number that SPEC.h gives each (SPEC_STATE_name) -------------------------- */
void nest_seen(nest_session *, unsigned state);
void nest_clear(nest_session *, unsigned state);
void nest_clear_all(nest_session *); /* all but START */
bool nest_isset(nest_session *, unsigned state);
unsigned nest_lastseen(nest_session *); /* NEST_NO_STATE before any */
#define NEST_NO_STATE 255u

/* -- the connection -------------------------------------------------------------------------- */
void nest_close(nest_session *); /* marks: the connection ends when the action has */
enum nest_reason nest_reason(nest_session *);
const char *nest_reason_text(nest_session *);
const char *nest_peer(nest_session *); /* "192.0.2.1:4711", "[2001:db8::1]:4711", "unix"; until the
                                          action ends */
uint64_t nest_id(nest_session *);      /* unique in this run of the server, from 1; bits 48 on: the
                                          worker process, 0 as long as none has died */
void *nest_keep(nest_session *, size_t n); /* zeroed, aligned as malloc; until END has run. NULL and
                                              ENOMEM beyond keepLimit bytes a connection */

/* -- the server ------------------------------------------------------------------------------ */
void nest_log(nest_session *, enum nest_level, const char *format, ...) NEST_FORMAT(3, 4);
const char *nest_date(void); /* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7), kept current */
#define NEST_DATE 30         /* bytes of such a text, its NUL included */
const char *nest_date_of(time_t when, char text[NEST_DATE]); /* another time's, in `text` */
const char *nest_server_name(void);
const char *nest_file_root(void); /* fileRoot, for start-up code that prepares what lies there */
const char *nest_model(void);     /* "process", "thread", "event" */
unsigned nest_port(void);         /* of the first TCP listener; 0 if none */

/* -- what some C libraries lack: strlcpy and strlcat as OpenBSD has them -------------------- */
size_t nest_strlcpy(char *to, const char *from, size_t size);
size_t nest_strlcat(char *to, const char *from, size_t size);

#ifdef __cplusplus
}
inline int64_t nest_file_reply(nest_session *s, const char *path, uint64_t offset,
                               uint64_t length) {
    return nest_file_reply_path(s, path, offset, length);
}
inline int64_t nest_file_reply(nest_session *s, nest_file *file, uint64_t offset, uint64_t length) {
    return nest_file_reply_open(s, file, offset, length);
}
inline int64_t nest_file_reply(nest_session *s, nest_file file, uint64_t offset, uint64_t length) {
    return nest_file_reply_open(s, &file, offset, length);
}
#endif
#endif
