/* Answers: replaces a marked request in the socket's output by the prepared answer, and follows the
 * server's own answers to learn when each ends.
 *
 * Must not know: how requests are read, and where answers come from. */
#include "heads.h"
#include "types.h"

/* An answer of ours saves as much time as it takes to copy so many bytes. */
#define SAVED_BYTES 8192
/* A connection on which so many more bytes were copied than answers of ours have saved is left to
 * the server. */
#define COPIED_MOST (256 << 10)

struct copy {
    struct sk_msg_md *msg;
    struct entry *entry;
};

/* Copies one block into the message; 1 ends the loop. */
static long copy_block(__u32 index, struct copy *copy) {
    unsigned char *to, *limit;
    const unsigned char *from;
    __u32 which, i;
    if (index >= BLOCKS)
        return 1;
    which = copy->entry->blocks[index];
    from = map_lookup(&blocks, &which);
    if (!from)
        return 1;
    to = (void *)(long)copy->msg->data;
    limit = (void *)(long)copy->msg->data_end;
    to += index * BLOCK_BYTES;
    for (i = 0; i < BLOCK_BYTES; i += PIECE) {
        if (to + i + PIECE > limit)
            return 1;
        __builtin_memcpy(to + i, from + i, PIECE);
    }
    return 0;
}

/* Copies the 304 into the message. The rest of its last piece is removed afterwards. */
INLINE void copy_unchanged(struct sk_msg_md *msg, struct entry *entry) {
    __u32 start = entry->unchanged % BLOCK_BYTES, which, at, i;
    struct block *block;
    unsigned char *to, *limit;
    if (entry->unchanged / BLOCK_BYTES >= BLOCKS)
        return;
    which = entry->blocks[entry->unchanged / BLOCK_BYTES];
    block = map_lookup(&blocks, &which);
    if (!block)
        return;
    to = (void *)(long)msg->data;
    limit = (void *)(long)msg->data_end;
    for (i = 0; i < BLOCK_BYTES; i += PIECE) {
        at = start + i;
        /* The compiler must not add the two parts one after the other: the verifier knows the limit
         * of the sum only. */
        __asm__ volatile("" : "+r"(at));
        if (to + i + PIECE > limit || at > BLOCK_BYTES - PIECE)
            return;
        __builtin_memcpy(to + i, block->bytes + at, PIECE);
    }
}

/* Writes the current date into the answer. */
INLINE int put_date(struct sk_msg_md *msg, __u32 at) {
    __u32 zero = 0, which;
    struct clock *clock = map_lookup(&clocks, &zero);
    struct date *date;
    unsigned char *to;
    if (!at)
        return 1;
    if (!clock || at > HEAD_BYTES)
        return 0;
    which = clock->date & 1;
    date = map_lookup(&dates, &which);
    to = (void *)(long)msg->data;
    to += at;
    if (!date || to + 29 > (unsigned char *)(long)msg->data_end)
        return 0;
    __builtin_memcpy(to, date->text, 29);
    return 1;
}

INLINE void log_answer(struct tcp_sock *socket, struct entry *entry, struct tag tag, __u32 bytes) {
    struct sock *sk = (struct sock *)socket;
    struct record record = {.when = now_coarse()};
    if (!nest_logs)
        return;
    record.family = sk->__sk_common.skc_family;
    record.port = __builtin_bswap16(sk->__sk_common.skc_dport);
    record.index = tag.index;
    record.generation = entry->generation;
    record.kind = tag.kind;
    record.bytes = bytes;
    if (record.family == 2)
        *(__u32 *)record.address = sk->__sk_common.skc_daddr;
    else
        kernel_read(record.address, 16, &sk->__sk_common.skc_v6_daddr);
    if (ring_put(&records, &record, sizeof record, 0))
        count_add(COUNT_UNLOGGED, 1);
}

/* Accounts for an answer: what was copied, less what it saved. 0: the server alone would be faster
 * on this connection. Savings are bounded, because what a client asks for changes. */
INLINE int pays(struct connection *connection, __u32 copied, __u32 saved) {
    connection->loss += (int)copied - (int)saved;
    if (connection->loss < -COPIED_MOST)
        connection->loss = -COPIED_MOST;
    return connection->loss <= COPIED_MOST;
}

/* The answer cannot be sent whole. Nothing may follow it on this connection. */
INLINE int give_up(struct connection *connection) {
    if (!connection->broken)
        count_add(COUNT_BROKEN, 1);
    connection->broken = 1;
    leave_to_server(connection);
    return SK_DROP;
}

INLINE int send_answer(struct sk_msg_md *msg, struct connection *connection,
                       struct tcp_sock *socket, struct tag tag) {
    __u32 index = tag.index, request = msg->size, size, room, date;
    struct entry *entry = map_lookup(&entries, &index);
    struct copy copy = {msg, entry};
    if (!entry || entry->generation != tag.generation || tag.number != connection->sent + 1)
        return give_up(connection);
    size = tag.kind & KIND_HEAD ? entry->head : entry->size;
    date = entry->date;
    if (tag.kind & KIND_UNCHANGED) {
        size = entry->unchanged_size;
        date = entry->unchanged_date;
    }
    if (size > BLOCKS * BLOCK_BYTES)
        return give_up(connection);
    room = (size + PIECE - 1) & ~(PIECE - 1U);
    if (msg_push(msg, 0, room, 0))
        return give_up(connection);
    if (tag.kind & KIND_UNCHANGED)
        copy_unchanged(msg, entry);
    else
        repeat((room + BLOCK_BYTES - 1) / BLOCK_BYTES, copy_block, &copy, 0);
    if (!put_date(msg, date) || msg_pop(msg, size, room - size + request, 0) || msg->size != size)
        return give_up(connection);
    connection->sent++;
    connection->answered = now_coarse();
    connection->queued -= size;
    if (!pays(connection, size, SAVED_BYTES))
        leave_to_server(connection);
    count_add(COUNT_HITS, 1);
    count_add(COUNT_BYTES, size);
    if (tag.kind & KIND_UNCHANGED)
        count_add(COUNT_UNCHANGED, 1);
    log_answer(socket, entry, tag, size);
    __sync_fetch_and_add(&connection->owed, -1);
    return SK_PASS;
}

/* Reads the head of the server's answer, which this message begins with. 0: where it ends is
 * unknown. */
INLINE int read_answer(struct sk_msg_md *msg, struct connection *connection,
                       struct tcp_sock *socket, struct scratch *scratch) {
    struct walk walk = {.answer = 1};
    __u32 size = msg->size, status, body;
    unsigned char *data;
    if (size > HEAD_BYTES)
        size = HEAD_BYTES;
    if (size < 16 || msg_pull(msg, 0, size, 0))
        return 0;
    data = (void *)(long)msg->data;
    if (data + 16 > (unsigned char *)(long)msg->data_end)
        return 0;
    if (kernel_read(scratch->bytes, size, data))
        return 0;
    walk.size = size;
    walk_head(&walk, scratch);
    if (!walk.end || walk.worst != LINE_PLAIN || walk.sized > 1)
        return 0;
    if (word(scratch->bytes) != WORD('H', 'T', 'T', 'P', '/', '1', '.', '1') ||
        scratch->bytes[8] != ' ')
        return 0;
    status = (scratch->bytes[9] - '0') * 100 + (scratch->bytes[10] - '0') * 10 +
             (scratch->bytes[11] - '0');
    if (status < 200 || status > 599)
        return 0;
    body = connection->bodyless || status == 204 || status == 304 ? 0 : walk.length;
    if (body && !walk.sized)
        return 0;
    if (!walk.sized && !connection->bodyless && status != 204 && status != 304)
        return 0;
    if (body > 1U << 30 || msg->size > walk.end + body || !pays(connection, body, 0))
        return 0;
    connection->end = socket->write_seq + walk.end + body;
    connection->known = 1;
    return 1;
}

/* Whether it is known where the answer ends that this message begins with. */
INLINE int learn_end(struct sk_msg_md *msg, struct connection *connection,
                     struct tcp_sock *socket) {
    struct scratch *scratch = borrow();
    int known;
    if (!scratch)
        return 0;
    known = read_answer(msg, connection, socket, scratch);
    give_back(scratch);
    return known;
}

/* Follows what the server sends. */
INLINE int follow(struct sk_msg_md *msg, struct connection *connection, struct tcp_sock *socket) {
    if (connection->mode == MODE_USER)
        return SK_PASS;
    if (connection->mode == MODE_WAITS && connection->known) {
        if (at_or_after(connection->end, socket->write_seq + msg->size))
            return SK_PASS;
    } else if (connection->mode == MODE_WAITS && learn_end(msg, connection, socket)) {
        return SK_PASS;
    }
    leave_to_server(connection);
    return SK_PASS;
}

SECTION("sk_msg")
int nest_output(struct sk_msg_md *msg) {
    struct tcp_sock *socket;
    struct connection *connection;
    struct tag *data, tag;
    __u64 key;
    if (!msg->sk)
        return SK_PASS;
    socket = tcp_socket(msg->sk);
    if (!socket)
        return SK_PASS;
    key = cookie_of(socket);
    connection = map_lookup(&connections, &key);
    if (!connection)
        return SK_PASS;
    if (connection->broken)
        return SK_DROP;
    if (!(current_task()->flags & PF_KTHREAD))
        return follow(msg, connection, socket);
    data = (void *)(long)msg->data;
    if ((void *)(data + 1) > (void *)(long)msg->data_end || data->magic != nest_magic)
        return connection->owed ? give_up(connection) : SK_PASS;
    tag = *data;
    return send_answer(msg, connection, socket, tag);
}
