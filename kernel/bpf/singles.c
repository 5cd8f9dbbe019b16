/* Single requests: one that ends its connection, and is the first on it, is answered before the
 * server has a connection. The segment that would complete the handshake is held back, so the
 * request finds a handshake and no socket; the answer, with the FIN behind it, is written to the
 * network device. The handshake is forgotten when the client has all. Until then the kernel repeats
 * its part of it, and what the client says to that shows what it lacks. Everything unusual is
 * passed on: the kernel makes a socket of the handshake then, and the server answers.
 *
 * Must not know: how a request is read. */
#include "segments.h"
#include "types.h"

/* The most of an answer, in segments of the client: what a sender may send at first (RFC 6928). */
#define AT_FIRST 10
/* The most bytes of a segment. It fits any path, IPv6's least of 1,280 bytes included: nobody would
 * be told that one was too large. */
#define SEGMENT_BYTES 1152
/* The most segments. */
#define SEGMENTS 12
/* The least: the head with its date must be in the first. */
#define SEGMENT_LEAST HEAD_BYTES
/* A part that was sent in this time is not sent again because the client lacks it; it doubles each
 * time, LONGER times at most. */
#define AGAIN_NS 5000000ULL
#define LONGER 8
/* So long after the last request that ended its connection handshakes are held back. */
#define HOLD_NS 60000000000ULL
/* The namespace of the device. */
#define OWN_NET (~0ULL)

#define PASS (-1) /* to other programs, and to the kernel */
#define DROP 2

/* What is known of a handshake. */
struct handshake {
    __u32 found;
    __u32 expected;     /* the sequence number that the client sends first */
    __u32 acknowledged; /* the one that it acknowledges with it */
    __u32 repeats;
    __u32 mss;
    __u32 scale; /* of the client's window */
    __u64 group; /* of the listening socket */
};

/* What is known of one segment. It is in a map because stacks are small. */
struct work {
    struct segment segment;
    struct handshake handshake;
    struct single single;
    struct reply reply;
    unsigned char nothing[PIECE];
};

struct {
    KIND(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    KIND(max_entries, 1);
    HOLDS(key, __u32);
    HOLDS(value, struct work);
} works SECTION(".maps");

/* How a bit field is read, as in libbpf's BPF_CORE_READ_BITFIELD. */
INLINE __u32 scale_of(struct inet_request_sock *inet) {
    __u32 at = __builtin_preserve_field_info(inet->snd_wscale, 0);
    __u32 size = __builtin_preserve_field_info(inet->snd_wscale, 1);
    __u64 value = 0;
    if (size > 8 || kernel_read(&value, size & 15, (unsigned char *)inet + at))
        return 0;
    value <<= __builtin_preserve_field_info(inet->snd_wscale, 4);
    return value >> __builtin_preserve_field_info(inet->snd_wscale, 5);
}

/* The number of the control group of a socket. */
INLINE __u64 group_of(struct sock *socket) {
    struct cgroup *group;
    struct kernfs_node *node;
    __u64 number;
    if (kernel_read(&group, sizeof group, &socket->sk_cgrp_data.cgroup) ||
        kernel_read(&node, sizeof node, &group->kn) ||
        kernel_read(&number, sizeof number, &node->id))
        return 0;
    return number;
}

/* Looks for the client's socket. 1: there is one. */
INLINE int find_socket(struct __sk_buff *skb, struct segment *segment,
                       struct handshake *handshake) {
    struct bpf_sock_tuple tuple = {0};
    struct tcp_request_sock *request;
    struct bpf_sock *found;
    struct flow *flow = &segment->flow;
    int established;
    __u16 client = __builtin_bswap16(flow->port), server = __builtin_bswap16(nest_port);
    if (segment->four) {
        tuple.ipv4.saddr = flow->client[0];
        tuple.ipv4.daddr = flow->server[0];
        tuple.ipv4.sport = client;
        tuple.ipv4.dport = server;
        found = socket_find(skb, &tuple, sizeof tuple.ipv4, OWN_NET, 0);
    } else {
        __builtin_memcpy(tuple.ipv6.saddr, flow->client, 16);
        __builtin_memcpy(tuple.ipv6.daddr, flow->server, 16);
        tuple.ipv6.sport = client;
        tuple.ipv6.dport = server;
        found = socket_find(skb, &tuple, sizeof tuple.ipv6, OWN_NET, 0);
    }
    handshake->found = 0;
    if (!found)
        return 0;
    request = handshake_of(found);
    established = !request && found->state != BPF_TCP_LISTEN;
    if (request) {
        handshake->found = 1;
        handshake->expected = request->rcv_isn + 1;
        handshake->acknowledged = request->snt_isn + 1;
        handshake->repeats = request->req.req.num_retrans;
        handshake->mss = request->req.req.mss;
        handshake->scale = scale_of(&request->req);
        handshake->group = group_of(request->req.req.__req_common.skc_listener);
    }
    socket_release(found);
    return established;
}

/* -- sending */

/* Kept apart from what is sent: the verifier forgets pointers in what is passed by address. */
struct put {
    struct __sk_buff *skb;
    struct entry *entry;
    __u32 from; /* in the answer */
    __u32 to;   /* in the skb */
    __u64 sum;
};

/* Copies one piece of the answer; 1 ends the loop. */
static long put_piece(__u32 index, struct put *put) {
    __u32 at = put->from + index * PIECE, which;
    struct block *block;
    unsigned char *to;
    if (index >= BLOCKS * BLOCK_BYTES / PIECE)
        return 1;
    which = put->entry->blocks[at / BLOCK_BYTES % BLOCKS];
    block = map_lookup(&blocks, &which);
    if (!block)
        return 1;
    to = (void *)(long)put->skb->data;
    to += (put->to & 127) + index * PIECE;
    if (to + PIECE > (unsigned char *)(long)put->skb->data_end)
        return 1;
    __builtin_memcpy(to, block->bytes + (at & (BLOCK_BYTES - PIECE)), PIECE);
    return 0;
}

/* Adds one piece to the sum; 1 ends the loop. */
static long sum_piece(__u32 index, struct put *put) {
    unsigned char *from;
    __u32 i;
    if (index >= BLOCKS * BLOCK_BYTES / PIECE)
        return 1;
    from = (void *)(long)put->skb->data;
    from += (put->to & 127) + index * PIECE;
    if (from + PIECE > (unsigned char *)(long)put->skb->data_end)
        return 1;
    for (i = 0; i < PIECE; i += 4)
        put->sum += *(__u32 *)(from + i);
    return 0;
}

/* Puts `length` bytes of the answer into the skb, and adds them up. 0: it has no room. */
INLINE int put_payload(struct __sk_buff *skb, struct work *work, struct entry *entry, __u32 from,
                       __u32 length) {
    __u32 to = reply_data(&work->segment), pieces = (length + PIECE - 1) / PIECE, zero = 0, which,
          date;
    struct put put = {skb, entry, from, to, 0};
    struct clock *clock = map_lookup(&clocks, &zero);
    struct date *now;
    if (skb_resize(skb, to + (pieces + 1) * PIECE, 0))
        return 0;
    repeat(pieces, put_piece, &put, 0);
    date = entry->date;
    if (date && date >= from && date + 29 <= from + length) {
        which = clock ? clock->date & 1 : 0;
        now = map_lookup(&dates, &which);
        if (!now || skb_write(skb, to + date - from, now->text, 29, 0))
            return 0;
    }
    /* What follows counts for the sum of a last piece that is not full. */
    if (skb_write(skb, to + length, work->nothing, PIECE, 0))
        return 0;
    repeat(pieces, sum_piece, &put, 0);
    work->reply.sum = put.sum;
    return !skb_resize(skb, to + length, 0);
}

struct sending {
    struct __sk_buff *skb;
    struct entry *entry;
    struct work *work;
    struct single *single;
    __u32 from;
};

/* Sends one segment of the answer; 1 ends the loop. */
static long send_part(__u32 index, struct sending *sending) {
    struct single *single = sending->single;
    struct reply *reply = &sending->work->reply;
    __u32 from = sending->from + index * single->segment, length = single->size - from;
    if (from >= single->size)
        return 1;
    reply->flags = TCP_ACK | TCP_PSH;
    if (length > single->segment)
        length = single->segment;
    else
        reply->flags |= TCP_FIN;
    if (length > SEGMENT_BYTES ||
        !put_payload(sending->skb, sending->work, sending->entry, from, length))
        return 1;
    reply->inward = 0;
    reply->number = single->start + from;
    reply->acknowledged = single->next;
    reply->length = length;
    if (write_headers(sending->skb, &sending->work->segment, reply))
        return 1;
    return skb_send(sending->skb, sending->skb->ifindex, 0) != 0;
}

/* Sends the answer from the byte `from` on. 0: it is not there any more. */
INLINE int send_rest(struct __sk_buff *skb, struct work *work, struct single *single, __u32 from) {
    __u32 index = single->index;
    struct entry *entry = map_lookup(&entries, &index);
    struct sending sending = {skb, entry, work, single, 0};
    if (!entry || entry->generation != single->generation || !single->segment)
        return 0;
    sending.from = from - from % single->segment;
    single->sent = now_coarse();
    repeat(SEGMENTS, send_part, &sending, 0);
    return 1;
}

/* Makes of the skb a segment without payload: to the client, or as if from it. 0: it cannot. */
static int make_empty(struct __sk_buff *skb, struct work *work, __u32 inward, __u32 flags) {
    struct segment *segment = &work->segment;
    __u32 size = inward ? segment->tcp + TCP_BYTES : reply_data(segment);
    work->reply.inward = inward;
    work->reply.flags = flags;
    work->reply.length = 0;
    work->reply.sum = 0;
    /* If the skb grows first, the kernel forgets the sum that the device has made. */
    return !skb_resize(skb, skb->len + 4, 0) && !skb_resize(skb, size, 0) &&
           !write_headers(skb, segment, &work->reply);
}

/* -- deciding */

INLINE void log_single(struct segment *segment, struct single *single, __u32 kind) {
    struct record record = {.when = now_coarse()};
    if (!nest_logs)
        return;
    record.family = segment->four ? 2 : 10;
    record.port = segment->flow.port;
    record.index = single->index;
    record.generation = single->generation;
    record.kind = kind;
    record.bytes = single->size;
    __builtin_memcpy(record.address, segment->flow.client, 16);
    if (ring_put(&records, &record, sizeof record, 0))
        count_add(COUNT_UNLOGGED, 1);
}

/* The connection that begins with this request ends with it, too. If it is to be the server's,
 * nest_connect leaves it alone. */
INLINE void note_ending(struct segment *segment) {
    __u32 zero = 0;
    struct ending *ending = map_lookup(&endings, &zero);
    if (!ending)
        return;
    ending->port = segment->flow.port;
    ending->number = segment->number;
}

/* Answers the request if its answer is kept, and fits into what may be sent at once. */
INLINE int answer_single(struct __sk_buff *skb, struct work *work, struct scratch *scratch,
                         __u64 now) {
    struct segment *segment = &work->segment;
    struct single *single = &work->single;
    struct request request;
    struct entry *entry;
    __u32 *index, which, room;
    if (segment->odd || segment->data + segment->length != skb->len)
        return PASS;
    request = read_request(skb, scratch, segment->data);
    if (request.closing)
        note_ending(segment);
    if (request.line != LINE_PLAIN || !request.closing || request.condition.tag ||
        request.condition.since || scratch->question.name.path[PATH_BYTES - 2])
        return PASS;
    note_closing(now);
    scratch->question.name.path[PATH_BYTES - 1] = request.closing;
    index = map_lookup(&names, &scratch->question.name);
    if (!index) {
        ask(&scratch->question, 0, now);
        return PASS;
    }
    which = *index;
    entry = map_lookup(&entries, &which);
    if (!entry)
        return PASS;
    room = work->handshake.mss - (segment->stamped ? STAMPS_BYTES : 0);
    __builtin_memset(single, 0, sizeof *single);
    single->index = which;
    single->generation = entry->generation;
    single->size = request.head ? entry->head : entry->size;
    single->segment = (room > SEGMENT_BYTES ? SEGMENT_BYTES : room) & ~(PIECE - 1U);
    single->start = segment->acknowledged;
    single->acked = single->start;
    single->again = single->start - 1;
    single->end = single->start + single->size + 1;
    single->asked = segment->number;
    single->next = segment->number + segment->length;
    if (room < SEGMENT_LEAST || single->size > single->segment * SEGMENTS ||
        single->size > room * AT_FIRST ||
        single->size > (__u64)segment->window << (work->handshake.scale & 15))
        return PASS;
    single->sent = now;
    if (map_update(&singles, &segment->flow, single, BPF_ANY))
        return PASS;
    if (!send_rest(skb, work, single, 0)) {
        map_delete(&singles, &segment->flow);
        return PASS;
    }
    entry->used = now;
    count_add(COUNT_HITS, 1);
    count_add(COUNT_SINGLES, 1);
    count_add(COUNT_BYTES, single->size);
    log_single(segment, single, request.head ? KIND_HEAD : 0);
    return DROP;
}

/* Whether the segment shows that the client lacks a part of the answer: it acknowledges the same
 * once more. Each part is sent again at once, and then only after some time. */
INLINE int lacks(struct segment *segment, struct single *single, __u64 now) {
    return segment->acknowledged == single->acked && single->acked != single->end &&
           !segment->length && !(segment->flags & TCP_FIN) &&
           (single->again != single->acked ||
            now - single->sent > AGAIN_NS << (single->tries & (2 * LONGER - 1)));
}

/* Sends what the client lacks. */
INLINE int send_again(struct __sk_buff *skb, struct work *work, struct single *single) {
    if (single->again != single->acked)
        single->tries = 0;
    else if (single->tries < LONGER)
        single->tries++;
    single->again = single->acked;
    if (send_rest(skb, work, single, single->acked - single->start))
        return DROP;
    /* The file is another one now, and the client has a part of the old one. */
    work->reply.number = single->acked;
    work->reply.acknowledged = single->next;
    if (make_empty(skb, work, 0, TCP_RST | TCP_ACK))
        skb_send(skb, skb->ifindex, 0);
    map_delete(&singles, &work->segment.flow);
    return DROP;
}

/* Tells the kernel to forget the handshake. It takes a RST only with the number that it expects. */
INLINE int forget_handshake(struct __sk_buff *skb, struct work *work, __u32 number) {
    work->reply.number = number;
    work->reply.acknowledged = 0;
    return make_empty(skb, work, 1, TCP_RST) ? PASS : DROP;
}

/* The client of an answered request says something more. */
INLINE int go_on(struct __sk_buff *skb, struct work *work, struct single *single, __u64 now) {
    struct segment *segment = &work->segment;
    __u32 fin = segment->flags & TCP_FIN, acked = segment->acknowledged, forget, number;
    if (segment->flags & TCP_RST) {
        forget = !single->freed;
        number = single->asked;
        map_delete(&singles, &segment->flow);
        return forget ? forget_handshake(skb, work, number) : DROP;
    }
    if (!(segment->flags & TCP_ACK))
        return DROP;
    if (segment->length && segment->number == single->asked && acked == single->start &&
        !single->freed) {
        /* The request again: the answer was lost. If that does not help, the server answers. */
        single->repeats++;
        if (single->repeats < 2 && send_rest(skb, work, single, 0))
            return DROP;
        map_delete(&singles, &segment->flow);
        return PASS;
    }
    if (segment->number == single->next) {
        single->next += segment->length + fin;
        single->ended |= fin;
    }
    if (lacks(segment, single, now))
        return send_again(skb, work, single);
    if (at_or_after(single->end, acked) && at_or_after(acked, single->acked))
        single->acked = acked;
    number = single->asked;
    forget = single->acked == single->end && !single->freed;
    if (forget)
        single->freed = 1;
    if (segment->length || fin) {
        work->reply.number = single->end;
        work->reply.acknowledged = single->next;
        if (make_empty(skb, work, 0, TCP_ACK))
            skb_send(skb, skb->ifindex, 0);
    }
    if (single->freed && single->ended)
        map_delete(&singles, &segment->flow);
    return forget ? forget_handshake(skb, work, number) : DROP;
}

/* Whether the end of a handshake, without a request, is held back. If no request comes, the kernel
 * asks the client again in a second, and is told then. */
INLINE int is_held(struct handshake *handshake, __u64 now) {
    __u32 zero = 0;
    __u64 *last = map_lookup(&closings, &zero);
    return !handshake->repeats && last && *last && now - *last < HOLD_NS;
}

/* Sees each segment that comes from a network device. */
SECTION("classifier")
int nest_single(struct __sk_buff *skb) {
    __u32 zero = 0;
    struct work *work = map_lookup(&works, &zero);
    struct handshake *handshake;
    struct segment *segment;
    struct single *single;
    struct clock *clock;
    __u64 now;
    if (!work)
        return PASS;
    segment = &work->segment;
    handshake = &work->handshake;
    if (!read_segment(skb, segment))
        return PASS;
    if (segment->flags & TCP_SYN) {
        map_delete(&singles, &segment->flow);
        return PASS;
    }
    if (find_socket(skb, segment, handshake))
        return PASS;
    now = now_coarse();
    single = map_lookup(&singles, &segment->flow);
    if (single)
        return go_on(skb, work, single, now);
    clock = map_lookup(&clocks, &zero);
    if (!handshake->found || !clock || now > clock->until || handshake->group != clock->group ||
        (segment->flags & ~TCP_PSH) != TCP_ACK || segment->number != handshake->expected ||
        segment->acknowledged != handshake->acknowledged)
        return PASS;
    if (segment->length) {
        struct scratch *scratch = borrow();
        int decided = scratch ? answer_single(skb, work, scratch, now) : PASS;
        if (scratch)
            give_back(scratch);
        return decided;
    }
    return is_held(handshake, now) ? DROP : PASS;
}
