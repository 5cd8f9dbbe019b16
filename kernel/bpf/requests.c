/* Requests: reads what the client sends, and decides whether the kernel answers it. Everything that
 * is not certain goes to the server.
 *
 * Must not know: how an answer is copied, and how the server's answer is followed. */
#include "conditions.h"
#include "heads.h"
#include "types.h"

/* After this time the server gets a request although its answer is known, so that its idle timers
 * see that the connection is used. */
#define RENEW_NS 2000000000ULL
/* How long the loader is not asked again for the same name. */
#define ASK_NS 500000000ULL
/* How exact the time of the last request is that ended its connection. */
#define NOTE_NS 1000000000ULL

struct request {
    __u32 head;   /* HEAD */
    __u32 fields; /* one may change the answer */
    enum line line;
    __u32 closing; /* enum closing */
    struct condition condition;
};

/* Copies the path into the name. Returns where the path ends, or 0 if no file has such a name. */
NOINLINE __u32 read_path(struct scratch *scratch, __u32 start) {
    __u32 i;
    if (!scratch || start > 8)
        return 0;
    for (i = 0; i < PATH_BYTES; i++) {
        unsigned char c = scratch->bytes[start + i];
        if (c == ' ')
            return i ? start + i : 0;
        if (c == '?' || c == '%' || c == '#' || (i == 0 && c != '/'))
            return 0;
        scratch->question.name.path[i] = c;
    }
    return 0;
}

/* Copies the value of Host into the name, in lower case; 0: it is empty or too long. */
NOINLINE int read_host(struct scratch *scratch, __u32 start) {
    __u32 i;
    if (!scratch)
        return 0;
    for (i = 0; i < HOST_BYTES; i++) {
        unsigned char c = scratch->bytes[(start + i) & (HEAD_BYTES - 1)];
        if (c == '\r')
            return i != 0;
        if (c >= 'A' && c <= 'Z')
            c |= 32;
        scratch->question.name.host[i] = c;
    }
    return 0;
}

/* The digit behind " HTTP/1." at `at`, if the line ends there and the version is known; or 0. */
NOINLINE int read_version(struct scratch *scratch, __u32 at) {
    const unsigned char *text;
    if (!scratch || at > HEAD_BYTES - 16)
        return 0;
    text = scratch->bytes + at;
    if (word(text) != WORD(' ', 'H', 'T', 'T', 'P', '/', '1', '.') || text[9] != '\r')
        return 0;
    return text[8] == '0' || text[8] == '1' ? text[8] : 0;
}

/* Reads the request that fills the skb from `offset` on. Its name is in the scratch buffer
 * afterwards. */
INLINE struct request read_request(struct __sk_buff *skb, struct scratch *scratch, __u32 offset) {
    struct request request = {.line = LINE_UNSURE};
    struct walk walk = {0};
    __u32 size = skb->len - offset, start, end;
    unsigned char *bytes = scratch->bytes;
    int version;
    if (size < sizeof(struct tag) || size > HEAD_BYTES || skb_read(skb, offset, bytes, size))
        return request;
    if ((word(bytes) & FIRST(4)) == WORD('G', 'E', 'T', ' ', 0, 0, 0, 0))
        start = 4;
    else if ((word(bytes) & FIRST(5)) == WORD('H', 'E', 'A', 'D', ' ', 0, 0, 0))
        start = 5;
    else
        return request;
    request.head = start == 5;
    __builtin_memset(&scratch->question, 0, sizeof scratch->question);
    end = read_path(scratch, start);
    walk.size = size;
    walk_head(&walk, scratch);
    if (walk.end != size || walk.worst == LINE_UNSURE)
        return request;
    request.line = LINE_CHANGES;
    request.fields = walk.worst != LINE_PLAIN;
    request.closing = walk.closes ? CLOSING_ASKED : CLOSING_NOT;
    if (!end || end > HEAD_BYTES - 16 || walk.worst != LINE_PLAIN || walk.hosts != 1 ||
        walk.tags > 1 || walk.sinces > 1)
        return request;
    request.condition.tag = walk.tag;
    request.condition.since = walk.since;
    version = read_version(scratch, end);
    if (!version || (walk.keeps && (walk.closes || version == '0')))
        request.line = LINE_UNSURE;
    else if (read_host(scratch, walk.host))
        request.line = LINE_PLAIN;
    else if (version == '0')
        request.line = LINE_UNSURE;
    if (version == '0')
        request.closing = CLOSING_OLD;
    return request;
}

/* Asks the loader for an answer that is not kept, unless it was asked a moment ago. */
INLINE void ask(struct question *question, __u32 conditional, __u64 now) {
    __u64 *last = map_lookup(&asked, &question->name);
    if (last && now - *last < ASK_NS)
        return;
    map_update(&asked, &question->name, &now, BPF_ANY);
    question->conditional = conditional;
    ring_put(&misses, question, sizeof *question, 0);
}

/* Whether the send buffer has room for an answer. One that does not fit whole would be sent in
 * part. */
INLINE int fits(struct connection *connection, struct tcp_sock *socket, __u32 size) {
    struct sock *sk = (struct sock *)socket;
    return sk->sk_wmem_queued + (int)(connection->queued + size) + 4096 <= sk->sk_sndbuf >> 1;
}

/* Promises the answer and sends the request, marked, to the socket's own output. 0: it was not. */
INLINE int promise(struct __sk_buff *skb, struct connection *connection, struct tag mark,
                   __u32 size, __u64 key) {
    struct tag *tag;
    if (skb_pull(skb, skb->len))
        return 0;
    tag = (void *)(long)skb->data;
    if ((void *)(tag + 1) > (void *)(long)skb->data_end)
        return 0;
    __sync_fetch_and_add(&connection->owed, 1);
    if (__sync_fetch_and_add(&connection->fin, 0) ||
        skb_redirect(skb, &sockets, &key, 0) != SK_PASS) {
        __sync_fetch_and_add(&connection->owed, -1);
        return 0;
    }
    connection->queued += size;
    connection->promised++;
    mark.number = connection->promised;
    *tag = mark;
    return 1;
}

/* Notes that there are requests that end their connection. */
INLINE void note_closing(__u64 now) {
    __u32 zero = 0;
    __u64 *last = map_lookup(&closings, &zero);
    if (last && now - *last > NOTE_NS)
        *last = now;
}

/* Tries to answer a plain request here; 0: the server must. Of an `early` one only the name is
 * learnt: many clients send no second request. */
INLINE int answer_here(struct __sk_buff *skb, struct connection *connection,
                       struct tcp_sock *socket, struct scratch *scratch, struct request *request,
                       __u64 key, int early) {
    __u64 now = now_coarse();
    __u32 zero = 0, *index, which, size;
    __u32 conditional = request->condition.tag || request->condition.since;
    struct clock *clock = map_lookup(&clocks, &zero);
    struct tag mark = {.magic = nest_magic};
    struct entry *entry;
    if (!clock || now > clock->until)
        return 0;
    index = map_lookup(&names, &scratch->question.name);
    if (!index) {
        count_add(COUNT_MISSES, 1);
        ask(&scratch->question, conditional, now);
        return 0;
    }
    if (early)
        return 0;
    which = *index;
    entry = map_lookup(&entries, &which);
    if (!entry)
        return 0;
    if (conditional && !entry->forms) {
        ask(&scratch->question, 1, now);
        return 0;
    }
    if (now - connection->passed > RENEW_NS) {
        count_add(COUNT_RENEWED, 1);
        return 0;
    }
    mark.kind = request->head ? KIND_HEAD : 0;
    size = request->head ? entry->head : entry->size;
    if (conditional) {
        if (!names_version(scratch, entry, &request->condition))
            return 0;
        mark.kind |= KIND_UNCHANGED;
        size = entry->unchanged_size;
    }
    if (!fits(connection, socket, size)) {
        count_add(COUNT_FULL, 1);
        return 0;
    }
    /* Without the guard a FIN could come unseen. */
    if (!at_or_after(connection->seen, skb->cb[0] + skb->len))
        return 0;
    mark.index = which;
    mark.generation = entry->generation;
    if (!promise(skb, connection, mark, size, key))
        return 0;
    entry->used = now;
    return 1;
}

/* Whether the request in the skb came before the server accepted the connection, and must be left
 * to it. This program sees such requests inside the server's first read. That read sets copied_seq
 * when it ends to what it has read itself, so bytes that are taken meanwhile count as unread for
 * ever: the socket looks readable all the time, a server that asks epoll whether it is would never
 * sleep, and the connection could not leave the maps. */
INLINE int is_early(struct connection *connection, struct __sk_buff *skb) {
    return !at_or_after(skb->cb[0], connection->early);
}

/* Removes bytes that came before: a segment can repeat some, and the kernel does not remove them
 * for a socket in a map. */
INLINE int trim(struct __sk_buff *skb, struct connection *connection) {
    __u32 repeated = connection->next - skb->cb[0];
    if (!skb->len || !repeated)
        return 0;
    if (repeated >= skb->len || skb_trim(skb, -(int)repeated, 0, 0))
        return -1;
    count_add(COUNT_TRIMMED, 1);
    return 1;
}

/* Passes the bytes on, and notes how far the server must read to have them. */
INLINE int pass(struct connection *connection) {
    connection->unread = connection->next;
    return SK_PASS;
}

/* What becomes of a request. */
enum fate {
    FATE_ANSWERED,
    FATE_FOLLOWED, /* the server gets it, and its answer is followed */
    FATE_USER      /* the server gets it, and all that comes after it */
};

/* Decides about the request in the skb. */
INLINE enum fate decide(struct __sk_buff *skb, struct connection *connection,
                        struct scratch *scratch, __u64 key) {
    struct tcp_sock *socket;
    struct request request;
    int early;
    if (!skb->sk)
        return FATE_USER;
    socket = tcp_socket(skb->sk);
    if (!socket)
        return FATE_USER;
    early = is_early(connection, skb);
    request = read_request(skb, scratch, 0);
    if (request.closing)
        note_closing(now_coarse());
    if (request.line == LINE_UNSURE || request.closing)
        return FATE_USER;
    if (connection->mode == MODE_WAITS) {
        if (!connection->known || !at_or_after(socket->write_seq, connection->end))
            return FATE_USER;
        connection->mode = MODE_KERNEL;
    }
    if (request.line == LINE_PLAIN &&
        answer_here(skb, connection, socket, scratch, &request, key, early))
        return FATE_ANSWERED;
    connection->mode = MODE_WAITS;
    connection->known = 0;
    connection->bodyless = request.head;
    connection->passed = now_coarse();
    count_add(COUNT_PASSED, 1);
    if (request.fields)
        count_add(COUNT_FIELDS, 1);
    return FATE_FOLLOWED;
}

SECTION("sk_skb/stream_verdict")
int nest_verdict(struct __sk_buff *skb) {
    struct scratch *scratch;
    struct connection *connection;
    __u64 key = socket_cookie(skb);
    enum fate fate = FATE_USER;
    int trimmed;
    connection = map_lookup(&connections, &key);
    if (!connection || !skb->len)
        return SK_PASS;
    trimmed = trim(skb, connection);
    connection->next += skb->len;
    if (connection->mode == MODE_USER)
        return pass(connection);
    scratch = trimmed ? 0 : borrow();
    if (scratch) {
        fate = decide(skb, connection, scratch, key);
        give_back(scratch);
    }
    if (fate == FATE_ANSWERED)
        return SK_PASS;
    if (fate == FATE_USER)
        leave_to_server(connection);
    return pass(connection);
}
