/* What all parts of the BPF object share: the maps and their values, the fields of the kernel that
 * are read, and the helpers of the kernel that are called. The loader writes the same values; their
 * layout is repeated in kernel/src/shape.rs.
 *
 * Must not know: how a request is read or an answer is made. */
#ifndef NEST_KERNEL_TYPES_H
#define NEST_KERNEL_TYPES_H

#include <linux/bpf.h>
#include <linux/types.h>

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

#define KIND(name, value) int(*name)[value]
#define HOLDS(name, type) typeof(type) *name

/* The head of a request or an answer that is read at most. */
#define HEAD_BYTES 1024
/* An answer is kept in blocks of this size. */
#define BLOCK_BYTES 1024
#define BLOCKS 32
#define PIECE 64

#define HOST_BYTES 40
#define PATH_BYTES 88

/* What a file is asked for by: bytes of Host and of the path, padded with zeros. The last byte of
 * the path is enum closing: a request that ends its connection has another answer. */
struct name {
    unsigned char host[HOST_BYTES];
    unsigned char path[PATH_BYTES];
};

/* How a request ends its connection. */
enum closing {
    CLOSING_NOT,
    CLOSING_ASKED, /* HTTP/1.1 with "Connection: close" */
    CLOSING_OLD    /* HTTP/1.0 without "Connection: keep-alive" */
};

/* The conditional requests that a server answers with 304 if they name the version that it has. */
enum form {
    FORM_ASKED = 1,   /* the server was asked about the others */
    FORM_STRONG = 2,  /* If-None-Match: "x" */
    FORM_WEAK = 4,    /* If-None-Match: W/"x" */
    FORM_LIST = 8,    /* If-None-Match with several tags */
    FORM_ANY = 16,    /* If-None-Match: * */
    FORM_SINCE = 32,  /* If-Modified-Since with the date in Last-Modified */
    FORM_BESIDE = 64, /* the same date beside If-None-Match */
};

/* A prepared answer, and the 304 in its place. The loader writes it before its name is published,
 * and does not write it again until no request can refer to it. */
struct entry {
    __u32 generation;
    __u32 size;
    __u32 head;
    __u32 date;      /* where the 29 bytes of the date are; 0: the answer has none */
    __u64 used;      /* when it was last sent, in nanoseconds */
    __u32 forms;     /* enum form */
    __u32 tag;       /* where the ETag is in the head, from its first quote on */
    __u32 tag_size;  /* with both quotes; 0: there is none */
    __u32 since;     /* where the 29 bytes of Last-Modified are in the head */
    __u32 unchanged; /* where the 304 is: a multiple of PIECE, within one block */
    __u32 unchanged_size;
    __u32 unchanged_date; /* where the date is in the 304; 0: it has none */
    __u32 padding;
    __u32 blocks[BLOCKS];
};

struct block {
    unsigned char bytes[BLOCK_BYTES];
};

/* The loader renews `until`. No answer is sent after it, so a loader that has died leaves none. */
struct clock {
    __u64 until;
    __u64 date;  /* which of `dates` is valid */
    __u64 group; /* the number of the server's control group */
};

struct date {
    unsigned char text[32];
};

enum mode {
    MODE_KERNEL, /* every request was answered: the next one may be answered here */
    MODE_WAITS,  /* the server owes one answer */
    MODE_USER    /* the server answers all that follows */
};

/* A connection. `owed` and `fin` are changed by two CPUs at once; the rest belongs to the owner of
 * the socket's lock. */
struct connection {
    __u64 passed;   /* when the server last got a request */
    __u64 answered; /* when an answer of ours was last sent; 0: never */
    __u32 owed;     /* answers that were promised and are not sent yet */
    __u32 fin;      /* the client's FIN was let through */
    __u32 queued;   /* bytes of the owed answers */
    __u32 seen;     /* the end of what the guard has seen, as a sequence number */
    __u32 unread;   /* up to where the server must read, in terms of copied_seq */
    __u32 next;     /* the sequence number of the next byte from the client */
    __u32 mode;     /* enum mode */
    __u32 known;    /* `end` is valid */
    __u32 end;      /* where the server's answer ends, as a sequence number */
    __u32 bodyless; /* the request that the server answers was HEAD */
    __u32
        promised; /* numbers of promised and sent answers: a repeated one must not be sent again */
    __u32 sent;
    __u32 broken;   /* an answer could not be sent whole */
    __u32 accepted; /* a segment came after the server had accepted the connection */
    __u32 early;    /* the end of what came before it did, as a sequence number */
    int loss;       /* bytes that were copied, less what our answers have saved */
};

/* A client of the port: addresses in network order, those of IPv4 in the first word. */
struct flow {
    __u32 client[4];
    __u32 server[4];
    __u32 port;
};

/* A client whose only request was answered without a socket. Sequence numbers are the server's,
 * unless stated otherwise. */
struct single {
    __u64 sent;  /* when the answer, or a part of it, was last sent */
    __u32 start; /* of the answer */
    __u32 end;   /* behind the FIN */
    __u32 acked; /* the client has all before it */
    __u32 asked; /* of the client: where the request begins */
    __u32 next;  /* of the client: what it sends next */
    __u32 index;
    __u32 generation;
    __u32 size;    /* of the answer */
    __u32 segment; /* the payload of a segment: a multiple of PIECE */
    __u32 repeats; /* how often the request came again */
    __u32 again;   /* from where on a part was last sent again */
    __u32 freed;   /* the kernel was told to forget the handshake */
    __u32 ended;   /* the client has sent its FIN */
    __u32 tries;   /* how often that part was sent again */
};

/* What replaces the first bytes of a request that is answered here. */
struct tag {
    __u64 magic;
    __u32 index;
    __u32 number;
    __u32 generation;
    __u32 kind; /* enum kind */
};

/* What a request asks for, as bits. */
enum kind {
    KIND_HEAD = 1,
    KIND_UNCHANGED = 2 /* it is answered with 304 */
};

/* What the loader is asked. */
struct question {
    struct name name;
    __u32 conditional; /* also for the 304 */
};

struct record {
    __u64 when;
    unsigned char address[16];
    __u32 family;
    __u32 port;
    __u32 index;
    __u32 generation;
    __u32 kind; /* enum kind */
    __u32 bytes;
};

enum count {
    COUNT_CONNECTIONS,
    COUNT_HITS,
    COUNT_BYTES,
    COUNT_UNCHANGED, /* of the answers, those with 304 */
    COUNT_PASSED,    /* requests that the server got and whose answer was followed */
    COUNT_MISSES,    /* of these, requests for a name that is not kept */
    COUNT_FIELDS,    /* of these, requests with a field that may change the answer */
    COUNT_RENEWED,   /* of these, requests that were passed on for the server's idle timer */
    COUNT_FULL,      /* of these, requests for which the send buffer had no room */
    COUNT_USER,      /* connections that the server alone answers from some byte on */
    COUNT_HELD,      /* FINs that were held back until an answer was sent */
    COUNT_TRIMMED,   /* repeated bytes that were removed from a segment */
    COUNT_BROKEN,    /* connections that were ended because an answer could not be sent whole */
    COUNT_UNLOGGED,  /* records that did not fit into the ring */
    COUNT_SINGLES,   /* of the answers, those that were given without a connection of the server */
    COUNTS
};

struct {
    KIND(type, BPF_MAP_TYPE_SOCKHASH);
    KIND(max_entries, 65536);
    HOLDS(key, __u64);
    HOLDS(value, __u32);
} sockets SECTION(".maps");

struct {
    KIND(type, BPF_MAP_TYPE_HASH);
    KIND(map_flags, BPF_F_NO_PREALLOC);
    KIND(max_entries, 65536);
    HOLDS(key, __u64);
    HOLDS(value, struct connection);
} connections SECTION(".maps");

struct {
    KIND(type, BPF_MAP_TYPE_HASH);
    KIND(map_flags, BPF_F_NO_PREALLOC);
    KIND(max_entries, 65536);
    HOLDS(key, struct name);
    HOLDS(value, __u32);
} names SECTION(".maps");

struct {
    KIND(type, BPF_MAP_TYPE_ARRAY);
    KIND(max_entries, 1024);
    HOLDS(key, __u32);
    HOLDS(value, struct entry);
} entries SECTION(".maps");

struct {
    KIND(type, BPF_MAP_TYPE_ARRAY);
    KIND(max_entries, 1024);
    HOLDS(key, __u32);
    HOLDS(value, struct block);
} blocks SECTION(".maps");

struct {
    KIND(type, BPF_MAP_TYPE_ARRAY);
    KIND(max_entries, 1);
    HOLDS(key, __u32);
    HOLDS(value, struct clock);
} clocks SECTION(".maps");

struct {
    KIND(type, BPF_MAP_TYPE_ARRAY);
    KIND(max_entries, 2);
    HOLDS(key, __u32);
    HOLDS(value, struct date);
} dates SECTION(".maps");

struct {
    KIND(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    KIND(max_entries, COUNTS);
    HOLDS(key, __u32);
    HOLDS(value, __u64);
} counts SECTION(".maps");

/* When a request that ends its connection was last seen. */
struct {
    KIND(type, BPF_MAP_TYPE_ARRAY);
    KIND(max_entries, 1);
    HOLDS(key, __u32);
    HOLDS(value, __u64);
} closings SECTION(".maps");

struct {
    KIND(type, BPF_MAP_TYPE_LRU_HASH);
    KIND(max_entries, 16384);
    HOLDS(key, struct flow);
    HOLDS(value, struct single);
} singles SECTION(".maps");

/* A request that ends its connection and is left to the server. It completes the handshake next, on
 * the same CPU. */
struct ending {
    __u32 port;   /* of the client */
    __u32 number; /* of the client: where the request begins */
};

struct {
    KIND(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    KIND(max_entries, 1);
    HOLDS(key, __u32);
    HOLDS(value, struct ending);
} endings SECTION(".maps");

/* Names for which the loader was asked a moment ago. */
struct {
    KIND(type, BPF_MAP_TYPE_LRU_HASH);
    KIND(max_entries, 4096);
    HOLDS(key, struct name);
    HOLDS(value, __u64);
} asked SECTION(".maps");

struct {
    KIND(type, BPF_MAP_TYPE_RINGBUF);
    KIND(max_entries, 65536);
} misses SECTION(".maps");

struct {
    KIND(type, BPF_MAP_TYPE_RINGBUF);
    KIND(max_entries, 4096);
} records SECTION(".maps");

/* A walk over a list of tags. It is in a map because the verifier, which follows each value on a
 * stack, would look at the walk once for each length of a tag. */
struct tags {
    __u32 at;    /* of the value in the scratch buffer */
    __u32 tag;   /* of the wanted tag in the block */
    __u32 size;  /* of the wanted tag */
    __u32 place; /* enum place */
    __u32 count;
    __u32 weak;    /* the tag has W/ */
    __u32 matched; /* bytes of the tag, from its quote on */
    __u32 differs;
    __u32 found; /* enum form */
};

/* Room for one head, and for the words that are read before and past it. */
struct scratch {
    __u32 borrowed;
    __u32 padding;
    __u64 before;
    unsigned char bytes[HEAD_BYTES + 64];
    struct question question;
    struct tags tags;
};

/* One for a program that runs for a process, and one for a program that runs for the network and
 * has interrupted it. */
#define SCRATCHES 2
struct {
    KIND(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    KIND(max_entries, SCRATCHES);
    HOLDS(key, __u32);
    HOLDS(value, struct scratch);
} scratches SECTION(".maps");

/* Set by the loader before the programs are loaded. */
extern const volatile __u32 nest_port;
extern const volatile __u32 nest_net; /* the number of the network namespace; 0: there is one */
extern const volatile __u32 nest_logs;
extern const volatile __u64 nest_magic;

/* The fields of the kernel that are read. The loader moves the offsets to where this kernel has
 * them. */
#define KERNEL __attribute__((preserve_access_index))
#define PF_KTHREAD 0x00200000

struct in6_addr {
    unsigned char bytes[16];
} KERNEL;

typedef struct {
    long long counter;
} KERNEL atomic64_t;

struct ns_common {
    unsigned int inum;
} KERNEL;

struct kernfs_node {
    __u64 id;
} KERNEL;

struct cgroup {
    struct kernfs_node *kn;
} KERNEL;

struct sock_cgroup_data {
    struct cgroup *cgroup;
} KERNEL;

struct net {
    struct ns_common ns;
} KERNEL;

typedef struct {
    struct net *net;
} KERNEL possible_net_t;

struct sock_common {
    __u32 skc_daddr;
    __u16 skc_dport;
    unsigned short skc_family;
    possible_net_t skc_net;
    struct in6_addr skc_v6_daddr;
    atomic64_t skc_cookie;
    struct sock *skc_listener;
} KERNEL;

struct sock {
    struct sock_common __sk_common;
    int sk_wmem_queued;
    int sk_sndbuf;
    struct socket *sk_socket; /* NULL: nobody has accepted it */
    struct sock_cgroup_data sk_cgrp_data;
} KERNEL;

struct tcp_sock {
    __u32 copied_seq;
    __u32 write_seq;
} KERNEL;

/* A handshake that is not complete. */
struct request_sock {
    struct sock_common __req_common;
    __u16 mss;
    __u8 num_retrans;
} KERNEL;

struct inet_request_sock {
    struct request_sock req;
    __u16 snd_wscale : 4;
} KERNEL;

struct tcp_request_sock {
    struct inet_request_sock req;
    __u32 rcv_isn;
    __u32 snt_isn;
} KERNEL;

struct task_struct {
    unsigned int flags;
} KERNEL;

static void *(*const map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*const map_update)(void *map, const void *key, const void *value,
                                __u64 flags) = (void *)BPF_FUNC_map_update_elem;
static long (*const map_delete)(void *map, const void *key) = (void *)BPF_FUNC_map_delete_elem;
static __u64 (*const now_coarse)(void) = (void *)BPF_FUNC_ktime_get_coarse_ns;
static __u64 (*const socket_cookie)(void *context) = (void *)BPF_FUNC_get_socket_cookie;
static long (*const socket_callbacks)(struct bpf_sock_ops *context,
                                      int flags) = (void *)BPF_FUNC_sock_ops_cb_flags_set;
static long (*const socket_insert)(struct bpf_sock_ops *context, void *map, void *key,
                                   __u64 flags) = (void *)BPF_FUNC_sock_hash_update;
static void *(*const tcp_socket)(void *sk) = (void *)BPF_FUNC_skc_to_tcp_sock;
static long (*const skb_read)(const void *skb, __u32 offset, void *to,
                              __u32 size) = (void *)BPF_FUNC_skb_load_bytes;
static long (*const skb_pull)(struct __sk_buff *skb, __u32 size) = (void *)BPF_FUNC_skb_pull_data;
static long (*const skb_trim)(struct __sk_buff *skb, __s32 change, __u32 mode,
                              __u64 flags) = (void *)BPF_FUNC_skb_adjust_room;
static long (*const skb_resize)(struct __sk_buff *skb, __u32 size,
                                __u64 flags) = (void *)BPF_FUNC_skb_change_tail;
static long (*const skb_write)(struct __sk_buff *skb, __u32 offset, const void *from, __u32 size,
                               __u64 flags) = (void *)BPF_FUNC_skb_store_bytes;
static long (*const skb_send)(struct __sk_buff *skb, __u32 device,
                              __u64 flags) = (void *)BPF_FUNC_clone_redirect;
static long (*const skb_sum_add)(struct __sk_buff *skb, __u32 sum) = (void *)BPF_FUNC_csum_update;
static long (*const skb_sum_level)(struct __sk_buff *skb,
                                   __u64 level) = (void *)BPF_FUNC_csum_level;
static void *(*const socket_find)(void *context, struct bpf_sock_tuple *tuple, __u32 size,
                                  __u64 net, __u64 flags) = (void *)BPF_FUNC_skc_lookup_tcp;
static void (*const socket_release)(void *socket) = (void *)BPF_FUNC_sk_release;
static void *(*const handshake_of)(void *socket) = (void *)BPF_FUNC_skc_to_tcp_request_sock;
static long (*const skb_redirect)(struct __sk_buff *skb, void *map, void *key,
                                  __u64 flags) = (void *)BPF_FUNC_sk_redirect_hash;
static long (*const msg_pull)(struct sk_msg_md *msg, __u32 start, __u32 end,
                              __u64 flags) = (void *)BPF_FUNC_msg_pull_data;
static long (*const msg_push)(struct sk_msg_md *msg, __u32 start, __u32 size,
                              __u64 flags) = (void *)BPF_FUNC_msg_push_data;
static long (*const msg_pop)(struct sk_msg_md *msg, __u32 start, __u32 size,
                             __u64 flags) = (void *)BPF_FUNC_msg_pop_data;
static struct task_struct *(*const current_task)(void) = (void *)BPF_FUNC_get_current_task_btf;
static long (*const kernel_read)(void *to, __u32 size,
                                 const void *from) = (void *)BPF_FUNC_probe_read_kernel;
static long (*const repeat)(__u32 times, void *callback, void *context,
                            __u64 flags) = (void *)BPF_FUNC_loop;
static long (*const ring_put)(void *ring, void *data, __u64 size,
                              __u64 flags) = (void *)BPF_FUNC_ringbuf_output;

INLINE void count_add(__u32 which, __u64 number) {
    __u64 *value = map_lookup(&counts, &which);
    if (value)
        *value += number;
}

INLINE __u64 cookie_of(struct tcp_sock *socket) {
    return (__u64)((struct sock *)socket)->__sk_common.skc_cookie.counter;
}

/* Whether sequence number `a` is at or after `b`. */
INLINE int at_or_after(__u32 a, __u32 b) {
    return (__s32)(a - b) >= 0;
}

/* A scratch buffer of this CPU, which nobody else uses until `give_back`; NULL: all are in use. */
INLINE struct scratch *borrow(void) {
    __u32 which;
    for (which = 0; which < SCRATCHES; which++) {
        __u32 key = which;
        struct scratch *scratch = map_lookup(&scratches, &key);
        if (scratch && !__sync_lock_test_and_set(&scratch->borrowed, 1))
            return scratch;
    }
    return 0;
}

INLINE void give_back(struct scratch *scratch) {
    __sync_lock_test_and_set(&scratch->borrowed, 0);
}

/* From now on the server answers everything on this connection. */
INLINE void leave_to_server(struct connection *connection) {
    if (connection->mode != MODE_USER) {
        connection->mode = MODE_USER;
        count_add(COUNT_USER, 1);
    }
}

#endif
