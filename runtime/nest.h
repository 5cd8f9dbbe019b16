/* nest.h: the functions behind the directives, for C functions that were given `$self`.
 *
 * Actions call them through directives. Other C files of the same server may include this file. It
 * declares only `nest_` names and includes only standard headers, so that the user's macros cannot
 * conflict with those of the runtime. A session may be used only by the action that was given it,
 * until that action ends, and on the thread that runs it. */
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

/* Why a connection ends, as returned by `$reason()`. It is NEST_OPEN until then. */
enum nest_reason {
    NEST_OPEN,     /* the connection has not ended */
    NEST_CLOSED,   /* the action called $close() */
    NEST_EOF,      /* the client closed between messages */
    NEST_GONE,     /* reset, or another error on the connection */
    NEST_INPUT,    /* no rule matches the input */
    NEST_STUCK,    /* no rule is active */
    NEST_OVERFLOW, /* inputBuffer bytes arrived and no rule was selected */
    NEST_TIMEOUT,  /* a time limit expired */
    NEST_SHUTDOWN, /* the server stops */
    NEST_OVERLOAD, /* the client was turned away */
    NEST_LIMIT,    /* libpcre2 needs more than backtrackingLimit steps */
    NEST_RETURNED, /* the message is answered, and the filter persist has the connection back */
    NEST_DECODE,   /* a function of %decode refused the input */
    NEST_ENCODE,   /* a function of %encode refused the output */
    NEST_REASONS
};
enum nest_level { NEST_ERROR, NEST_WARN, NEST_INFO, NEST_DEBUG };

/* A range of bytes. It does not own them. */
typedef struct nest_bytes {
    const void *p;
    size_t n;
} nest_bytes;

/* -- output ---------------------------------------------------------------------------------------
 * These functions queue output. They wait while more than outputBuffer is queued. They return 0, or
 * -1 and errno: ECONNRESET (the client is gone), ECANCELED (the server stops, or an earlier wait of
 * this action was cut short), ENOMEM. The caller may reuse the memory when they return. */
int nest_reply(nest_session *, const char *text); /* NULL sends nothing */
int nest_replyf(nest_session *, const char *format, ...) NEST_FORMAT(2, 3);
int nest_vreplyf(nest_session *, const char *format, va_list) NEST_FORMAT(2, 0);
int nest_reply_bytes(nest_session *, const void *, size_t);
int nest_reply_list(nest_session *, size_t count, const nest_bytes[]);
int nest_flush(nest_session *); /* sends the queued output now, as much as the kernel accepts */

/* The bytes of a C string without its NUL; NULL gives no bytes. */
static inline nest_bytes nest_text(const char *text) {
    nest_bytes bytes = {text, text == NULL ? 0 : strlen(text)};
    return bytes;
}

/* -- messages to other connections ----------------------------------------------------------------
 * A message is at most 16 KB and outputBuffer. Its receiver gets it as output, between two of its
 * actions; messages of one sender in their order. These functions never wait. They work in END as
 * well. They return 0, or -1 and errno: ESRCH (there is no connection with this number, or no
 * longer), EMSGSIZE (the message is too long), EAGAIN (the worker that serves the receiver has not
 * taken earlier messages yet). The receiver may end before it gets a message; then nobody gets it.
 * A receiver that does not keep up is treated as option messageOverflow says. Code of the server
 * (%timer, %signal, %worker), and functions that it calls, have no connection and pass NULL. */
int nest_send(nest_session *, uint64_t id, const char *text); /* id: its nest_id() */
int nest_sendf(nest_session *, uint64_t id, const char *format, ...) NEST_FORMAT(3, 4);
int nest_vsendf(nest_session *, uint64_t id, const char *format, va_list) NEST_FORMAT(3, 0);
int nest_send_list(nest_session *, uint64_t id, size_t count, const nest_bytes[]);

/* -- groups of connections: a group is a number, or a text of 1 to 63 bytes; it exists while it has
 * members. A connection is a member of at most 64 groups, and leaves all of them when END has run.
 */
typedef struct nest_group {
    bool is_text;
    const char *text;
    uint64_t number;
} nest_group;
static inline nest_group nest_group_text(const char *text) {
    nest_group group = {true, text, 0};
    return group;
}
static inline nest_group nest_group_number(uint64_t number) {
    nest_group group = {false, NULL, number};
    return group;
}
/* Returns 0, also for a member; or -1 and errno: ENOSPC (the connection, or the server, has no
 * space for another group), EINVAL or ENAMETOOLONG (the text), ENOMEM, ECANCELED (in END). */
int nest_join_group(nest_session *, nest_group);
void nest_leave_group(nest_session *, nest_group); /* no effect if it is no member */
/* How many there are: exactly, but for those that join, leave or end now. NULL may be passed. */
uint64_t nest_members_group(nest_session *, nest_group);
/* Sends a message to all members; `all`: also to this connection, if it is a member. For code of
 * the server, which passes NULL, both are the same. Returns 0; or -1 and errno as nest_send, or for
 * the text of the group. With EAGAIN, only the members that one worker serves miss the message. */
int nest_broadcast_list_group(nest_session *, nest_group, bool all, size_t count,
                              const nest_bytes[]);
int nest_broadcastf_group(nest_session *, nest_group, bool all, const char *format, ...)
    NEST_FORMAT(4, 5);
int nest_vbroadcastf_group(nest_session *, nest_group, bool all, const char *format, va_list)
    NEST_FORMAT(4, 0);
static inline int nest_broadcast_group(nest_session *s, nest_group group, bool all,
                                       const char *text) {
    nest_bytes item = nest_text(text);
    return nest_broadcast_list_group(s, group, all, 1, &item);
}
/* In the following, `g` is a string or a number. */
#ifndef __cplusplus /* for C++ there are overloads at the end of this file */
#define nest_group_of(g)                                                                           \
    _Generic((g), char *: nest_group_text, const char *: nest_group_text, default: nest_group_number)(g)
#endif
#define nest_join(session, g) nest_join_group(session, nest_group_of(g))
#define nest_leave(session, g) nest_leave_group(session, nest_group_of(g))
#define nest_members(session, g) nest_members_group(session, nest_group_of(g))
#define nest_broadcast(session, g, text)                                                           \
    nest_broadcast_group(session, nest_group_of(g), false, text)
#define nest_broadcast_list(session, g, ...)                                                       \
    nest_broadcast_list_group(session, nest_group_of(g), false, __VA_ARGS__)
#define nest_broadcastf(session, g, ...)                                                           \
    nest_broadcastf_group(session, nest_group_of(g), false, __VA_ARGS__)
#define nest_broadcast_all(session, g, text)                                                       \
    nest_broadcast_group(session, nest_group_of(g), true, text)
#define nest_broadcast_all_list(session, g, ...)                                                   \
    nest_broadcast_list_group(session, nest_group_of(g), true, __VA_ARGS__)
#define nest_broadcast_allf(session, g, ...)                                                       \
    nest_broadcastf_group(session, nest_group_of(g), true, __VA_ARGS__)

/* -- input ----------------------------------------------------------------------------------------
 * These functions consume the bytes after the match, beginning with those that have already been
 * received. They wait for the client: at most idleTimeout (or the time set by nest_timeout) for the
 * next byte. nest_read and nest_read_line, which read a complete message, also wait at most
 * readTimeout from its first byte. On failure they set errno to ECONNRESET (the client is gone),
 * ETIMEDOUT, ECANCELED (the server stops, or an earlier wait of this action was cut short) or
 * ENOMEM; the connection then ends after the action. At end of file errno is 0, and the connection
 * continues. In END, and after nest_close, they fail at once with ECANCELED. */
/* Returns n bytes and a NUL, valid until the next call of nest_read or nest_read_line or the end of
 * the action. On failure returns NULL and consumes nothing. EMSGSIZE: n is larger than inputBuffer.
 */
char *nest_read(nest_session *, size_t n);
/* Returns a line without "\n" or "\r\n", valid as the result of nest_read. On failure returns NULL
 * and consumes nothing. EMSGSIZE: the line has more than `max` bytes or does not fit into
 * inputBuffer. */
char *nest_read_line(nest_session *, size_t max);
/* Reads n bytes into `to`, directly from the connection if n is large. Returns the number of bytes,
 * which is less than n only at end of file; or -1 on failure. */
long nest_read_into(nest_session *, void *to, size_t n);
long nest_skip(nest_session *, size_t n); /* like nest_read_into, but drops the bytes */
bool nest_pending(nest_session *);        /* whether there is unread input; never waits */

/* -- second connections ---------------------------------------------------------------------------
 * Connections that an action opens beside that of its client. Each has a handle, a number above 0
 * that is valid until the connection is closed, also in later actions; END closes what is left. A
 * session can have 15 at a time. These functions wait for the other side and, meanwhile, notice a
 * client that is gone. They return -1 or NULL and set errno: ECONNRESET (the other side is gone; or
 * the client is, and then every later directive of the action fails as well), ETIMEDOUT, EBADF (the
 * handle is not valid), EPIPE (nest_end_to was called), ECANCELED, ENOMEM. */
#define NEST_CLIENT                                                                                \
    0x7fffffff /* as a handle, where it is allowed: the connection of the client                   \
                */
/* Opens a connection to "HOST:PORT", "[IPv6]:PORT" or "unix:/path". A name is looked up each time,
 * and its addresses are tried as RFC 8305 says. Waits at most `ms` for the lookup and the
 * connection; 0: readTimeout. Returns a handle; or -1 and errno: ENOENT (the name is not known),
 * EAGAIN (the resolver does not answer), EINVAL (not such an address), EMFILE, ECONNREFUSED,
 * ETIMEDOUT, … */
int nest_dial(nest_session *, const char *address, uint32_t ms);
/* Why the last nest_dial of this action failed, in words; "" if it did not. */
const char *nest_dial_error(nest_session *);
/* Queue output for a second connection, as nest_reply and the others do for the client. */
int nest_reply_to(nest_session *, int handle, const char *text);
int nest_replyf_to(nest_session *, int handle, const char *format, ...) NEST_FORMAT(3, 4);
int nest_vreplyf_to(nest_session *, int handle, const char *format, va_list) NEST_FORMAT(3, 0);
int nest_reply_bytes_to(nest_session *, int handle, const void *, size_t);
int nest_reply_to_list(nest_session *, int handle, size_t count, const nest_bytes[]);
int nest_flush_to(nest_session *, int handle);
/* Sends what is queued, and says that no more follows (a half-close). Input may still come. */
int nest_end_to(nest_session *, int handle);
/* Read from a second connection, after queued output has been sent to it. Each call waits at most
 * readTimeout, or the time of nest_timeout_of, and nest_read_into_from so long for the next bytes.
 * The text is valid until the next read from this connection, or its end. At end of file the result
 * is NULL, or fewer bytes, and errno is 0. EMSGSIZE as for the client; then nothing is consumed. */
char *nest_read_from(nest_session *, int handle, size_t n);
char *nest_read_line_from(nest_session *, int handle, size_t max);
long nest_read_into_from(nest_session *, int handle, void *to, size_t n);
/* The bytes that are there, at least 1 and at most n; waits for them. 0: end of file. */
long nest_read_some_from(nest_session *, int handle, void *to, size_t n);
/* From now on, a client that ends its output while an action waits for something else than its
 * input is gone. Otherwise it is there until it closes, and can get answers. nest_relay is not
 * ended so. */
void nest_cancel_on_end(nest_session *);
/* From now on, how long a read from this connection waits; 0: without a limit. */
int nest_timeout_of(nest_session *, int handle, uint32_t ms);
#define NEST_CUT 1u /* for nest_close_to: drop queued output, and reset the connection */
/* Closes a second connection. Queued output is still sent. */
int nest_close_to(nest_session *, int handle, unsigned flags);
/* Hands on what each of two connections sends to the other, until both have ended. One of them may
 * be NEST_CLIENT. The end of one direction is handed on as a half-close, a reset of the client as a
 * reset. At most outputBuffer is queued in a direction. Waits at most `ms`, or the idle limit of
 * the client if it is 0, while nothing moves. Returns 0; or -1 and errno: ECONNRESET, … */
int nest_relay(nest_session *, int a, int b, uint32_t ms);
/* Waits, at most the idle limit of the client, until one of the connections has input, or has
 * ended. Returns its handle, from which the next read does not wait; or -1 and errno. */
int nest_read_any_list(nest_session *, size_t count, const int handles[]);
#define nest_read_any(session, ...)                                                                \
    nest_read_any_list(session, sizeof((const int[]){__VA_ARGS__}) / sizeof(int),                  \
                       (const int[]){__VA_ARGS__})
#define NEST_ANYONE 1u /* for nest_listen: connections do not have to come from the client */
/* Listens on the address at which the client has connected, on a free port of a range: "PORT",
 * "LOW-HIGH", or "0" for any port. Returns a handle; -1 and errno: EADDRINUSE, EAFNOSUPPORT (the
 * client uses a Unix socket), … */
int nest_listen(nest_session *, const char *range, unsigned flags);
/* Takes a connection from there. Connections from other addresses than the client's are reset,
 * unless NEST_ANYONE was given. Waits at most `ms`; 0: readTimeout. Returns its handle. */
int nest_accept(nest_session *, int handle, uint32_t ms);
int nest_port_of(nest_session *, int handle);            /* its own port; -1 and errno */
const char *nest_address_of(nest_session *, int handle); /* its own address and port, valid until
                                                            the action ends; NULL and errno */
/* Drops unread input, and encrypts a second connection from here on. NULL: the other side begins,
 * as clients do, and gets the certificate of option tls. Otherwise this server begins, as a client,
 * and the other side must have a certificate of `name` (a host or an address) from an authority
 * that the system trusts. Returns 0; or -1 and errno: EALREADY, EINVAL (`name` is neither), ENOTSUP
 * (option tls is none), in which case nothing has happened; ECONNRESET (refused) and ETIMEDOUT
 * (after readTimeout or the time of nest_timeout_of), which end the connection. Behind it, one that
 * ends without TLS's own end fails with ECONNRESET. nest_end_to says this end. */
int nest_start_tls_on(nest_session *, int handle, const char *name);
/* Waits for a descriptor, such as the socket of a database library, at most `ms`; 0: without a
 * limit. Returns which of `events` it is ready for; an error or hang-up counts as all of them.
 * -1 and errno: ETIMEDOUT, EBADF, … */
#define NEST_READABLE 1u
#define NEST_WRITABLE 2u
int nest_wait_for(nest_session *, int fd, unsigned events, uint32_t ms);

/* -- time ------------------------------------------------------------------------------------ */
/* Pauses this connection only. Returns 0, or -1 and errno as for input. */
int nest_sleep(nest_session *, uint32_t ms);
/* Sets the idle limit of this connection from now on, instead of idleTimeout; 0: no limit. */
void nest_timeout(nest_session *, uint32_t ms);
bool nest_draining(nest_session *); /* whether the server is stopping */
/* With option priorities: the class of this connection from its next message on, from 1. Returns 0,
 * or -1 and errno: EINVAL, there is no such class. */
int nest_priority(nest_session *, long number);

/* -- files: regular files below fileRoot; paths and links that lead outside are refused. What
 * follows "//" is looked up below the folder before it (at most 255 bytes), and stays in it. */
typedef struct nest_file {
    uint64_t size;         /* in bytes */
    struct timespec mtime; /* last modification */
    uint64_t inode;        /* st_ino */
    int32_t fd;            /* used by the runtime; closed when the action ends */
    uint32_t mode;         /* st_mode: type and permissions */
} nest_file;
#define NEST_WHOLE UINT64_MAX /* as a length: everything */
#define NEST_SYNC 1u          /* nest_file_receive, nest_file_commit: return when it is on disk */
#define NEST_UNCHANGED 2u     /* for nest_file_commit: only if the old file is unchanged */
/* Opens a regular file or a directory and returns its metadata. For a directory only `mode` and
 * `mtime` are useful. Returns 0, or -1 and errno: ENOENT, EACCES, EXDEV (outside), ENXIO (neither a
 * file nor a directory), EMFILE, … */
int nest_file_open(nest_session *, const char *path, nest_file *);
/* Queues up to `length` bytes of a file, beginning at `offset`. Waits like nest_reply while more
 * than outputBuffer is queued. Returns the number of bytes; or -1 and errno, with nothing queued,
 * if the file cannot be opened (EISDIR: a directory). If the file is truncated before that many
 * bytes were sent, the connection is reset. */
int64_t nest_file_reply_path(nest_session *, const char *path, uint64_t offset, uint64_t length);
int64_t nest_file_reply_open(nest_session *, nest_file *, uint64_t offset, uint64_t length);
/* nest_file_reply(session, what, offset, length): `what` is a path, a nest_file or a pointer to
 * one. */
static inline int64_t nest_file_reply_value(nest_session *s, nest_file file, uint64_t offset,
                                            uint64_t length) {
    return nest_file_reply_open(s, &file, offset, length);
}
#ifndef __cplusplus /* for C++ there are overloads at the end of this file */
#define nest_file_reply(session, what, offset, length)                                             \
    _Generic((what),                                                                               \
        char *: nest_file_reply_path,                                                              \
        const char *: nest_file_reply_path,                                                        \
        nest_file *: nest_file_reply_open,                                                         \
        nest_file: nest_file_reply_value)(session, what, offset, length)
#endif
/* Receives `length` bytes (NEST_WHOLE: until end of file) into a file below fileRoot. The file is
 * written under another name and then renamed, so that others see either the old file or the new
 * one. Returns the number of bytes; or -1 and errno, with the old file unchanged. The errors are
 * those of input, EPIPE (end of file before `length` bytes), and errors of the file: ENOSPC,
 * EACCES, EXDEV, … After an error of the file the bytes are still consumed, so that the next
 * message is found. One case is different: with NEST_SYNC, if only the new name cannot be written
 * to disk, the call fails although the new file is in place. */
int64_t nest_file_receive(nest_session *, const char *path, uint64_t length, unsigned flags);

/* A file that is written piece by piece and replaces the old file when it is complete, as with
 * nest_file_receive. An upload continues to exist after the action. A connection can have one at a
 * time. If it is neither committed nor dropped, it is dropped after END. After the first error all
 * further calls fail with the same error, including the commit. In END these functions work unless
 * the client is gone or was cut off. */
typedef struct nest_upload nest_upload;
/* Begins an upload. On failure returns NULL and sets errno: EBUSY (there is already one), EACCES,
 * EISDIR, ENOSPC, EXDEV, … */
nest_upload *nest_file_create(nest_session *, const char *path);
/* Appends bytes. Small pieces are buffered, so an error may be reported by a later write or by the
 * commit. Returns 0, or -1 and errno; EBADF: not an upload of this connection, or no longer one. */
int nest_file_write(nest_session *, nest_upload *, const void *, size_t);
/* Puts the file in its place. With NEST_SYNC it returns when the file and its name are on disk.
 * Returns 0, or -1 and errno, with the old file unchanged (except as described for
 * nest_file_receive with NEST_SYNC). The upload ends in either case. With NEST_UNCHANGED (combined
 * by |) it fails with ESTALE if the old file has been changed, created or removed since the upload
 * began; of several such uploads one succeeds. */
int nest_file_commit(nest_session *, nest_upload *, unsigned flags);
/* Discards the file. Has no effect on NULL and on an upload that has ended. Preserves errno. */
void nest_file_drop(nest_session *, nest_upload *);

/* -- files and second connections: they wait as nest_reply_to and nest_read_from do ------------ */
#define NEST_UNTIL_INPUT 4u /* stop when the client sends something, or ends its output */
/* Waits until all output of a second connection has been sent. Returns 0; 1 if NEST_UNTIL_INPUT has
 * ended the wait, with some output still queued; or -1 and errno. */
int nest_drain_to(nest_session *, int handle, unsigned flags);
/* Queue up to `length` bytes of a file for a second connection, beginning at `offset`. Return the
 * number of bytes, which is less only at the end of the file or if NEST_UNTIL_INPUT has ended the
 * transfer; or -1 and errno, that of the file or of the connection. If the file is truncated
 * meanwhile, or cannot be read, the second connection is reset, and the session continues. */
int64_t nest_file_reply_to_path(nest_session *, int handle, const char *path, uint64_t offset,
                                uint64_t length, unsigned flags);
int64_t nest_file_reply_to_open(nest_session *, int handle, nest_file *, uint64_t offset,
                                uint64_t length, unsigned flags);
static inline int64_t nest_file_reply_to_value(nest_session *s, int handle, nest_file file,
                                               uint64_t offset, uint64_t length, unsigned flags) {
    return nest_file_reply_to_open(s, handle, &file, offset, length, flags);
}
/* Receives `length` bytes (NEST_WHOLE: until end of file) from a second connection into a file
 * below fileRoot, which others see when it is complete, as with nest_file_receive. Returns the
 * number of bytes; or -1 and errno, with the old file unchanged: EPIPE (end of file before `length`
 * bytes), EBUSY (an upload exists), errors of the connection and the file. `flags`: NEST_SYNC. */
int64_t nest_file_receive_from_path(nest_session *, int handle, const char *path, uint64_t length,
                                    unsigned flags);
/* Appends them to an upload, which it neither commits nor drops. Returns the number of bytes, which
 * is less at end of file (errno is 0) or if NEST_UNTIL_INPUT ended it (EINTR); or -1 and errno. */
int64_t nest_file_receive_from_upload(nest_session *, int handle, nest_upload *, uint64_t length,
                                      unsigned flags);
/* nest_file_reply_to(session, handle, what, offset, length, flags): `what` is a path, a nest_file
 * or a pointer to one; nest_file_receive_from(session, handle, what, length, flags): a path or an
 * upload. */
#ifndef __cplusplus /* for C++ there are overloads at the end of this file */
#define nest_file_reply_to(session, handle, what, offset, length, flags)                           \
    _Generic((what),                                                                               \
        char *: nest_file_reply_to_path,                                                           \
        const char *: nest_file_reply_to_path,                                                     \
        nest_file *: nest_file_reply_to_open,                                                      \
        nest_file: nest_file_reply_to_value)(session, handle, what, offset, length, flags)
#define nest_file_receive_from(session, handle, what, length, flags)                               \
    _Generic((what),                                                                               \
        char *: nest_file_receive_from_path,                                                       \
        const char *: nest_file_receive_from_path,                                                 \
        nest_upload *: nest_file_receive_from_upload)(session, handle, what, length, flags)
#endif

/* Deletes a regular file or a link (not its target). Returns 0, or -1 and errno: ENOENT, EISDIR,
 * EACCES, EXDEV, ENXIO (none of these types), … In END it works even if the client is gone. */
int nest_file_delete(nest_session *, const char *path);
/* The same, but fails with ESTALE unless the path still leads to this opened file, unchanged. */
int nest_file_delete_unchanged(nest_session *, const char *path, const nest_file *);
typedef struct nest_entry {
    const char *name;      /* any bytes except '/' and NUL */
    uint64_t size;         /* bytes of a regular file, otherwise 0 */
    struct timespec mtime; /* last modification */
    uint32_t mode;         /* st_mode: type and permissions; for a link, those of the link */
} nest_entry;
typedef struct nest_files {
    size_t count;
    const nest_entry *entries; /* sorted by the bytes of their names */
} nest_files;
/* Lists a directory, without ".", ".." and incomplete uploads. The list is valid until the action
 * ends. Returns 0, or -1 and errno, with an empty list: ENOENT, ENOTDIR, EACCES, EXDEV, …;
 * EOVERFLOW if all lists of the action need more than 1 MB (for each entry its name, a NUL and
 * sizeof(nest_entry)). */
int nest_file_list(nest_session *, const char *path, nest_files *);

/* -- blocking code --------------------------------------------------------------------------------
 * In event and uring servers the code between these two calls runs on a helper thread. Only this
 * connection waits for it. Of this file it may call only nest_part, nest_length, nest_bytes_at,
 * nest_count, nest_item, nest_item_length, nest_log, nest_id, nest_peer, nest_file_create,
 * nest_file_write, _commit, _drop and _delete. `$block { }` uses these functions. */
void nest_block_begin(nest_session *);
void nest_block_end(nest_session *);
static inline void nest_block_left(nest_session *const *block) { /* leaves the scope of `$block` */
    nest_block_end(*block);
}
/* The address of errno, evaluated at each call. Each thread has its own errno, and a block changes
 * the thread in the middle of a function. Compilers assume that this cannot happen: they compute
 * the address once and keep it. So in servers with blocks, errno in actions is defined as below. A
 * C file that calls nest_block_begin must contain the same lines:
 *     #undef errno
 *     #define errno (*nest_errno()) */
int *nest_errno(void);

/* -- shared variables (%shared)
 * -------------------------------------------------------------------- The code between these two
 * calls is alone in the whole server. It must not wait. `asks`: the code calls nest_recovered.
 * `$lock { }` uses these functions; C functions cannot name the variables. */
void nest_lock_begin(bool asks);
void nest_lock_end(void);
static inline void nest_lock_left(const char *lock) { /* leaves the scope of `$lock` */
    (void)lock;
    nest_lock_end();
}
/* Inside the lock: whether a process died inside it and may have left the variables half changed.
 * It is true for the next holder whose code asks. */
bool nest_recovered(void);
/* Inside the lock: memory of %shared, aligned as by malloc and not zeroed, until it is freed. NULL:
 * the size of %shared is used up. Elsewhere, and with what is no such memory, the process ends. */
void *nest_alloc(size_t n);
void nest_free(void *p); /* NULL: no effect */

/* Whether the connection with this nest_id exists: END has not run, and its process has not died.
 */
bool nest_alive(uint64_t id);

/* -- the match ------------------------------------------------------------------------------------
 * n = 0 is the whole match, and 1, 2, … are the elements of the rule's pattern. Outside of a rule
 * with a pattern, and beyond its last element, parts are empty. */
char *nest_part(nest_session *, unsigned n);    /* writable private copy with a NUL, valid until the
                                                   action ends; the same pointer each time */
size_t nest_length(nest_session *, unsigned n); /* in bytes */
const char *nest_bytes_at(nest_session *,
                          unsigned n); /* in the input buffer, valid until the action next waits */
nest_bytes nest_part_bytes(
    nest_session *,
    unsigned n); /* the private copy if there is one, otherwise the bytes in the input buffer */
uint64_t nest_be(nest_session *,
                 unsigned n); /* the number in its first (at most 8) bytes, big-endian */
uint64_t nest_le(nest_session *, unsigned n); /* the same, little-endian */
/* The repetitions of element n >= 1, which is a group or a byte with `*`, `+`, `?` or `{n,m}`. i
 * counts from 0. Repetitions follow each other without gaps. Of other elements, and beyond the last
 * repetition, there are none: the count and lengths are 0, and texts are empty. */
size_t nest_count(nest_session *, unsigned n);
char *nest_item(nest_session *, unsigned n, size_t i); /* as nest_part: private, writable, with a
                                                          NUL, valid until the action ends */
size_t nest_item_length(nest_session *, unsigned n, size_t i);
/* The message that an action runs for. Generated code uses it to compute the lengths and positions
 * of parts without a call. It changes when the action waits. */
struct nest_message {
    const uint8_t *p;
    uint32_t n;
    const uint32_t *tags; /* positions of element ends that differ from message to message */
};

/* -- states: the numbers are SPEC_STATE_name in the generated SPEC.h --------------------------- */
void nest_seen(nest_session *, unsigned state);
void nest_clear(nest_session *, unsigned state);
void nest_clear_all(nest_session *); /* clears all states except START */
bool nest_isset(nest_session *, unsigned state);
unsigned nest_lastseen(nest_session *); /* NEST_NO_STATE before the first nest_seen */
#define NEST_NO_STATE 255u

/* -- the connection -------------------------------------------------------------------------- */
void nest_close(nest_session *); /* ends the connection after the action */
#define NEST_MORE 1u             /* for nest_close_flags: the client may still be sending */
/* The same. With NEST_MORE the server reads and drops what still comes, for at most lingerTimeout,
 * before it closes; otherwise that input would reset the connection and destroy the last reply. */
void nest_close_flags(nest_session *, unsigned flags);
/* Sends queued replies, drops all input that the client sent before (it was not encrypted, and
 * might be somebody else's), and encrypts the connection from here on. Returns 0; -1 and errno:
 * EALREADY: it is encrypted; ENOTSUP: option tls is none; in both cases nothing has happened.
 * ECONNRESET: the handshake has failed; ETIMEDOUT: it took too long; then the connection ends. */
int nest_start_tls(nest_session *);
enum nest_tls { NEST_TLS_NONE, NEST_TLS_READY, NEST_TLS_ON };
enum nest_tls nest_tls(nest_session *); /* READY: nest_start_tls can encrypt the connection */
enum nest_reason nest_reason(nest_session *);
const char *nest_reason_text(nest_session *);
/* "192.0.2.1:4711", "[2001:db8::1]:4711" or "unix"; valid until the action ends */
const char *nest_peer(nest_session *);
/* A number that no other connection of this run of the server has; at least 1. Where one process
 * serves many clients, bits 48 to 63 identify the process; otherwise they are 0. */
uint64_t nest_id(nest_session *);
/* Returns n zeroed bytes, aligned as by malloc and valid until END has run. Returns NULL and sets
 * ENOMEM if the connection would have more than keepLimit bytes. */
void *nest_keep(nest_session *, size_t n);

/* -- the server ------------------------------------------------------------------------------ */
void nest_log(nest_session *, enum nest_level, const char *format, ...) NEST_FORMAT(3, 4);
/* Adds a field to the next line about this client (option logging), or replaces it. Has no effect
 * if no such line is logged. `name`: letters, digits and '_', at most 32. A value of more than 1024
 * bytes is cut, and all fields of a line together have at most 2048 bytes. If something was cut or
 * left out, the line has the field cut=1, which replaces a field of that name. The log formats of
 * web servers have only the fields request, status, bytes, user, referer and agent; others are not
 * shown. */
void nest_log_text(nest_session *, const char *name, const char *value); /* NULL: no field */
void nest_log_number(nest_session *, const char *name, int64_t value);
void nest_log_unsigned(nest_session *, const char *name, uint64_t value);
void nest_log_bytes(nest_session *, const char *name, nest_bytes value);
/* nest_log_field(session, name, value): `value` is a string, a nest_bytes or a whole number. A
 * compound literal may contain commas. */
#ifndef __cplusplus /* for C++ there are overloads at the end of this file */
#define nest_log_field(session, name, ...)                                                         \
    _Generic((__VA_ARGS__),                                                                              \
        char *: nest_log_text,                                                                     \
        const char *: nest_log_text,                                                               \
        nest_bytes: nest_log_bytes,                                                                \
        bool: nest_log_number,                                                                     \
        char: nest_log_number,                                                                     \
        signed char: nest_log_number,                                                              \
        unsigned char: nest_log_number,                                                            \
        short: nest_log_number,                                                                    \
        unsigned short: nest_log_number,                                                           \
        int: nest_log_number,                                                                      \
        unsigned: nest_log_number,                                                                 \
        long: nest_log_number,                                                                     \
        unsigned long: nest_log_unsigned,                                                          \
        long long: nest_log_number,                                                                \
        unsigned long long: nest_log_unsigned)(session, name, __VA_ARGS__)
#endif
/* Declares that this action completes a request: one line is logged when it has ended. In a
 * specification that calls this function, actions that do not call it are not logged. */
void nest_log_request(nest_session *);
const char *
nest_date(void);     /* the current date, "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7) */
#define NEST_DATE 30 /* size of such a text with its NUL */
/* Writes the date of `when` into `text`; beyond the years 0 to 9999, that of 1 January 1970. */
const char *nest_date_of(time_t when, char text[NEST_DATE]);
const char *nest_server_name(void);
const char *nest_file_root(void); /* fileRoot, for start-up code that prepares files */
const char *nest_model(void);     /* "process", "prefork", "thread", "event", "uring" or "script" */
unsigned nest_port(void);         /* the port of the first TCP listener; 0 if there is none */

/* -- strlcpy and strlcat as in OpenBSD, which some C libraries lack ---------------------------- */
size_t nest_strlcpy(char *to, const char *from, size_t size);
size_t nest_strlcat(char *to, const char *from, size_t size);

#ifdef __cplusplus
}
inline nest_group nest_group_of(const char *text) {
    return nest_group_text(text);
}
inline nest_group nest_group_of(char *text) {
    return nest_group_text(text);
}
template <typename number> inline nest_group nest_group_of(number n) {
    return nest_group_number(static_cast<uint64_t>(n));
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
inline int64_t nest_file_reply_to(nest_session *s, int handle, const char *path, uint64_t offset,
                                  uint64_t length, unsigned flags) {
    return nest_file_reply_to_path(s, handle, path, offset, length, flags);
}
inline int64_t nest_file_reply_to(nest_session *s, int handle, nest_file *file, uint64_t offset,
                                  uint64_t length, unsigned flags) {
    return nest_file_reply_to_open(s, handle, file, offset, length, flags);
}
inline int64_t nest_file_reply_to(nest_session *s, int handle, nest_file file, uint64_t offset,
                                  uint64_t length, unsigned flags) {
    return nest_file_reply_to_open(s, handle, &file, offset, length, flags);
}
inline int64_t nest_file_receive_from(nest_session *s, int handle, const char *path,
                                      uint64_t length, unsigned flags) {
    return nest_file_receive_from_path(s, handle, path, length, flags);
}
inline int64_t nest_file_receive_from(nest_session *s, int handle, nest_upload *upload,
                                      uint64_t length, unsigned flags) {
    return nest_file_receive_from_upload(s, handle, upload, length, flags);
}
inline void nest_log_field(nest_session *s, const char *name, const char *value) {
    nest_log_text(s, name, value);
}
inline void nest_log_field(nest_session *s, const char *name, nest_bytes value) {
    nest_log_bytes(s, name, value);
}
inline void nest_log_field(nest_session *s, const char *name, char *value) {
    nest_log_text(s, name, value);
}
void nest_log_field(nest_session *, const char *, float) = delete;
void nest_log_field(nest_session *, const char *, double) = delete;
template <typename number>
inline void nest_log_field(nest_session *s, const char *name, number value) {
    if (value > static_cast<number>(0)) {
        nest_log_unsigned(s, name, static_cast<uint64_t>(value));
    } else {
        nest_log_number(s, name, static_cast<int64_t>(value));
    }
}
#endif
#endif
