/* Segments of TCP on a network device: reads the one that an skb holds, and writes another one in
 * its place, to either side.
 *
 * Must not know: what is asked and answered. */
#ifndef NEST_KERNEL_SEGMENTS_H
#define NEST_KERNEL_SEGMENTS_H

#include "types.h"

#define ETHER_BYTES 14
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define TCP_BYTES 20
/* Two fillers and the two timestamps, as all common systems write them. */
#define STAMPS_BYTES 12
#define STAMPS 0x0101080aU

enum tcp_flag { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_PSH = 8, TCP_ACK = 16 };

struct segment {
    struct flow flow;
    unsigned char devices[12]; /* the Ethernet addresses: the server's, the client's */
    __u32 four;                /* IPv4 */
    __u32 tcp;                 /* where the TCP header is */
    __u32 data;                /* where the payload is */
    __u32 length;              /* of the payload */
    __u32 number;
    __u32 acknowledged;
    __u32 window;
    __u32 flags;   /* enum tcp_flag */
    __u32 stamped; /* has timestamps at the usual place, and no other options */
    __u32 odd;     /* has other options */
    __u32 stamp;   /* in network order */
    __u32 echo;    /* in network order */
    __u32 partial; /* the checksum is that of the pseudo header; what sends it does the rest */
};

INLINE __u32 swapped(__u32 word) {
    return __builtin_bswap32(word);
}

/* Folds a sum of 32-bit words. */
INLINE __u32 folded(__u64 sum) {
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return sum & 0xffff;
}

/* The sum of the pseudo header, for `size` bytes of TCP. */
INLINE __u64 pseudo_sum(struct flow *flow, __u32 size) {
    __u64 sum = (__u64)swapped(6) + swapped(size);
    __u32 i;
    for (i = 0; i < 4; i++)
        sum += (__u64)flow->client[i] + flow->server[i];
    return sum;
}

/* Whether the kernel left the checksum to the device. For a segment from a device that checks
 * nothing the two sums are equal once in 65,536; the answer is then lost, and the request comes
 * again with another sum. */
INLINE int is_partial(struct __sk_buff *skb, struct segment *segment, __u32 written, __u32 size) {
    if (skb_sum_level(skb, BPF_CSUM_LEVEL_QUERY) >= 0 || skb_sum_add(skb, 0) >= 0)
        return 0;
    return written == folded(pseudo_sum(&segment->flow, size));
}

/* Reads the segment. 0: it is none to the port, or not a plain one. */
INLINE int read_segment(struct __sk_buff *skb, struct segment *segment) {
    __u32 ether[4] = {0}, ip[10] = {0}, tcp[8] = {0}, total, kind, header, options;
    if (skb_read(skb, 0, ether, ETHER_BYTES))
        return 0;
    __builtin_memset(segment, 0, sizeof *segment);
    kind = ether[3] & 0xffff;
    if (kind != skb->protocol)
        return 0;
    __builtin_memcpy(segment->devices, ether, 12);
    if (kind == 0x0008) {
        if (skb_read(skb, ETHER_BYTES, ip, IPV4_BYTES) || (ip[0] & 0xff) != 0x45 ||
            (ip[1] & 0xffbf0000) || (ip[2] & 0xff00) != 0x0600)
            return 0;
        segment->four = 1;
        segment->flow.client[0] = ip[3];
        segment->flow.server[0] = ip[4];
        segment->tcp = ETHER_BYTES + IPV4_BYTES;
        total = swapped(ip[0]) & 0xffff;
    } else if (kind == 0xdd86) {
        if (skb_read(skb, ETHER_BYTES, ip, IPV6_BYTES) || (ip[0] & 0xf0) != 0x60 ||
            (ip[1] >> 16 & 0xff) != 6)
            return 0;
        __builtin_memcpy(segment->flow.client, ip + 2, 16);
        __builtin_memcpy(segment->flow.server, ip + 6, 16);
        segment->tcp = ETHER_BYTES + IPV6_BYTES;
        total = (swapped(ip[1]) >> 16) + IPV6_BYTES;
    } else {
        return 0;
    }
    if (skb_read(skb, segment->tcp, tcp, TCP_BYTES) || (swapped(tcp[0]) & 0xffff) != nest_port)
        return 0;
    header = segment->tcp - ETHER_BYTES + (swapped(tcp[3]) >> 28) * 4;
    if (header > total || header < segment->tcp - ETHER_BYTES + TCP_BYTES ||
        ETHER_BYTES + total > skb->len)
        return 0;
    segment->flow.port = swapped(tcp[0]) >> 16;
    segment->data = ETHER_BYTES + header;
    segment->length = total - header;
    segment->number = swapped(tcp[1]);
    segment->acknowledged = swapped(tcp[2]);
    segment->flags = swapped(tcp[3]) >> 16 & 0x3f;
    segment->window = swapped(tcp[3]) & 0xffff;
    options = segment->data - segment->tcp - TCP_BYTES;
    if (options >= STAMPS_BYTES &&
        !skb_read(skb, segment->tcp + TCP_BYTES, tcp + 5, STAMPS_BYTES) &&
        tcp[5] == swapped(STAMPS)) {
        segment->stamped = 1;
        segment->stamp = tcp[6];
        segment->echo = tcp[7];
    }
    segment->odd = options != (segment->stamped ? STAMPS_BYTES : 0);
    segment->partial =
        is_partial(skb, segment, tcp[4] & 0xffff, total - (segment->tcp - ETHER_BYTES));
    return 1;
}

/* What is written: to the client, or to the server. */
struct reply {
    __u32 inward; /* to the server */
    __u32 number;
    __u32 acknowledged;
    __u32 flags;  /* enum tcp_flag */
    __u32 length; /* of the payload, which is there already */
    __u64 sum;    /* of the payload's words */
};

/* Where the payload of a reply to the client begins. */
INLINE __u32 reply_data(struct segment *segment) {
    return segment->tcp + TCP_BYTES + (segment->stamped ? STAMPS_BYTES : 0);
}

/* Writes the headers. The skb has its length already. -1: it could not be written. */
INLINE int write_headers(struct __sk_buff *skb, struct segment *segment, struct reply *reply) {
    __u32 ether[3], ip[10], tcp[8], stamps, size, i;
    struct flow *flow = &segment->flow;
    __u64 sum;
    stamps = segment->stamped && !reply->inward ? STAMPS_BYTES : 0;
    size = TCP_BYTES + stamps + reply->length;
    __builtin_memcpy(ether, segment->devices, 12);
    if (!reply->inward) {
        __builtin_memcpy(ether, segment->devices + 6, 6);
        __builtin_memcpy((unsigned char *)ether + 6, segment->devices, 6);
    }
    tcp[0] = swapped(reply->inward ? flow->port << 16 | nest_port : nest_port << 16 | flow->port);
    tcp[1] = swapped(reply->number);
    tcp[2] = swapped(reply->acknowledged);
    tcp[3] = swapped((TCP_BYTES + stamps) << 26 | reply->flags << 16 | 0xffff);
    tcp[5] = swapped(STAMPS);
    tcp[6] = segment->echo;
    tcp[7] = segment->stamp;
    sum = pseudo_sum(flow, size);
    if (segment->partial) {
        tcp[4] = folded(sum);
    } else {
        sum += (__u64)tcp[0] + tcp[1] + tcp[2] + tcp[3] + reply->sum;
        if (stamps)
            sum += (__u64)tcp[5] + tcp[6] + tcp[7];
        tcp[4] = ~folded(sum) & 0xffff;
    }
    if (segment->four) {
        ip[0] = swapped(0x45000000 | (IPV4_BYTES + size));
        ip[1] = swapped(0x4000); /* must not be fragmented */
        ip[2] = swapped(64 << 24 | 6 << 16);
        ip[3] = reply->inward ? flow->client[0] : flow->server[0];
        ip[4] = reply->inward ? flow->server[0] : flow->client[0];
        sum = (__u64)ip[0] + ip[1] + ip[2] + ip[3] + ip[4];
        ip[2] |= (~folded(sum) & 0xffff) << 16;
        if (skb_write(skb, ETHER_BYTES, ip, IPV4_BYTES, 0))
            return -1;
    } else {
        ip[0] = swapped(0x60000000);
        ip[1] = swapped(size << 16 | 6 << 8 | 64);
        for (i = 0; i < 4; i++) {
            ip[2 + i] = reply->inward ? flow->client[i] : flow->server[i];
            ip[6 + i] = reply->inward ? flow->server[i] : flow->client[i];
        }
        if (skb_write(skb, ETHER_BYTES, ip, IPV6_BYTES, 0))
            return -1;
    }
    if (skb_write(skb, 0, ether, 12, 0))
        return -1;
    return stamps ? skb_write(skb, segment->tcp, tcp, TCP_BYTES + STAMPS_BYTES, 0)
                  : skb_write(skb, segment->tcp, tcp, TCP_BYTES, 0);
}

#endif
