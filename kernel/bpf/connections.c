/* Connections: each client of the port is entered when it is established, and its FIN is held back
 * while a server that read the end of the stream would lose something. It closes the socket then,
 * and closing discards what waits in the kernel: an answer of ours that is not sent, or a request
 * that queues behind one and that the server cannot read yet.
 *
 * Must not know: what a request or an answer looks like. */
#include "types.h"

/* An answer that was sent may leave the queue only a moment later. */
#define LEAVING_NS 100000000ULL

/* A control group can have processes of several network namespaces, each with this port. */
INLINE int is_elsewhere(struct bpf_sock_ops *context) {
    struct tcp_sock *socket;
    if (!nest_net)
        return 0;
    if (!context->sk)
        return 1;
    socket = tcp_socket(context->sk);
    return !socket || ((struct sock *)socket)->__sk_common.skc_net.net->ns.inum != nest_net;
}

/* What the server sends over a socket in a map is copied. So a connection that the server alone
 * answers leaves the maps when the client acknowledges something; the socket is locked then. Bytes
 * that the server has not read would be lost: such a connection stays. */
INLINE void leave(struct bpf_sock_ops *context) {
    __u64 key = socket_cookie(context);
    struct connection *connection = map_lookup(&connections, &key);
    struct tcp_sock *socket;
    if (!connection || connection->mode != MODE_USER || connection->broken || !context->sk)
        return;
    socket = tcp_socket(context->sk);
    if (!socket || __sync_fetch_and_add(&connection->owed, 0) ||
        connection->next != context->rcv_nxt || connection->next != socket->copied_seq)
        return;
    socket_callbacks(context, 0);
    map_delete(&sockets, &key);
    map_delete(&connections, &key);
}

/* Whether the kernel has answered nothing yet, and the client is another machine. Until the server
 * was examined, its connections are left alone: it may read in a way that does not work with this.
 * The examination itself is a connection of this machine. */
INLINE int is_unexamined(struct bpf_sock_ops *context) {
    /* The verifier takes no address that is chosen, so all are read. */
    volatile __u32 *four = &context->remote_ip4, *own_four = &context->local_ip4;
    volatile __u32 *six = &context->remote_ip6[3], *own_six = &context->local_ip6[3];
    __u32 zero = 0, remote = *four, local = *own_four, remote_six = *six, local_six = *own_six;
    struct clock *clock = map_lookup(&clocks, &zero);
    if (clock && clock->until)
        return 0;
    if (context->family != 2) {
        remote = remote_six;
        local = local_six;
    }
    return remote != local && (remote & 0xff) != 127;
}

/* Whether the connection begins with its last request, which is the server's. Nothing can be
 * answered on it, and what the server sends would be copied for nothing. */
INLINE int is_ending(struct bpf_sock_ops *context) {
    __u32 zero = 0, port = __builtin_bswap32(context->remote_port);
    struct ending *ending = map_lookup(&endings, &zero);
    return ending && ending->port == port && ending->number == context->rcv_nxt;
}

SECTION("sockops")
int nest_connect(struct bpf_sock_ops *context) {
    __u64 key;
    struct connection fresh = {0};
    if (context->op == BPF_SOCK_OPS_RTT_CB) {
        leave(context);
        return 1;
    }
    if (context->op == BPF_SOCK_OPS_STATE_CB) {
        if (context->args[1] == BPF_TCP_CLOSE) {
            key = socket_cookie(context);
            map_delete(&connections, &key);
        }
        return 1;
    }
    if (context->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB || context->local_port != nest_port ||
        is_elsewhere(context) || is_unexamined(context))
        return 1;
    if (is_ending(context)) {
        count_add(COUNT_CONNECTIONS, 1);
        count_add(COUNT_USER, 1);
        return 1;
    }
    key = socket_cookie(context);
    fresh.passed = now_coarse();
    fresh.next = context->rcv_nxt;
    fresh.seen = context->rcv_nxt;
    fresh.unread = context->rcv_nxt;
    fresh.early = context->rcv_nxt;
    if (map_update(&connections, &key, &fresh, BPF_ANY))
        return 1;
    socket_callbacks(context, BPF_SOCK_OPS_STATE_CB_FLAG | BPF_SOCK_OPS_RTT_CB_FLAG);
    if (socket_insert(context, &sockets, &key, BPF_ANY)) {
        map_delete(&connections, &key);
        return 1;
    }
    count_add(COUNT_CONNECTIONS, 1);
    return 1;
}

/* Whether a FIN could make the server lose something: our answer, or bytes before `start` that it
 * has not read. Where we never promised an answer, nothing queues. */
INLINE int must_wait(struct connection *connection, struct __sk_buff *skb, __u32 start) {
    struct tcp_sock *socket;
    __u64 answered = connection->answered;
    if (__sync_fetch_and_add(&connection->owed, 0))
        return 1;
    if (!connection->promised || !skb->sk)
        return 0;
    socket = tcp_socket(skb->sk);
    if (!socket || connection->next != start ||
        !at_or_after(socket->copied_seq, connection->unread))
        return 1;
    return now_coarse() - answered < LEAVING_NS;
}

/* Decides about a FIN. The verdict program raises `owed` before it reads `fin`; this one raises
 * `fin` before it reads `owed`. So at least one of them sees the other, and no answer is promised
 * after a FIN. */
INLINE int admit_fin(struct connection *connection, struct __sk_buff *skb, __u32 start) {
    if (__sync_lock_test_and_set(&connection->fin, 1))
        return 1;
    if (!must_wait(connection, skb, start))
        return 1;
    __sync_lock_test_and_set(&connection->fin, 0);
    count_add(COUNT_HELD, 1);
    return 0;
}

/* Notes that a segment which ends at `end` came before the server accepted the connection, if so.
 */
INLINE void note_early(struct connection *connection, struct __sk_buff *skb, __u32 end) {
    struct tcp_sock *socket = skb->sk ? tcp_socket(skb->sk) : 0;
    if (socket && ((struct sock *)socket)->sk_socket)
        connection->accepted = 1;
    else if (at_or_after(end, connection->early))
        connection->early = end;
}

/* Sees each segment before TCP does. 0 discards it, and the client sends it again. */
SECTION("cgroup_skb/ingress")
int nest_guard(struct __sk_buff *skb) {
    unsigned char *data = (void *)(long)skb->data, *limit = (void *)(long)skb->data_end, *tcp;
    struct connection *connection;
    __u32 total, header, start, length;
    __u64 key;
    if (data + 40 > limit)
        return 1;
    if (data[0] >> 4 == 4) {
        if (data[9] != 6)
            return 1;
        header = (data[0] & 15) * 4;
        total = (__u32)data[2] << 8 | data[3];
    } else {
        if (data[6] != 6)
            return 1;
        header = 40;
        total = ((__u32)data[4] << 8 | data[5]) + 40;
    }
    tcp = data + header;
    if (tcp + 20 > limit || tcp[2] != (nest_port >> 8 & 255) || tcp[3] != (nest_port & 255))
        return 1;
    /* Merged segments can be longer than what the field of the IP header can say. */
    if (skb->len > 65535)
        total = skb->len;
    length = total - header - (tcp[12] >> 4) * 4;
    if (!length && !(tcp[13] & 1))
        return 1;
    key = socket_cookie(skb);
    connection = map_lookup(&connections, &key);
    if (!connection)
        return 1;
    start = (__u32)tcp[4] << 24 | (__u32)tcp[5] << 16 | (__u32)tcp[6] << 8 | tcp[7];
    if (tcp[13] & 1 && !admit_fin(connection, skb, start))
        return 0;
    if (at_or_after(start + length, connection->seen))
        connection->seen = start + length;
    if (!connection->accepted)
        note_early(connection, skb, start + length);
    return 1;
}
