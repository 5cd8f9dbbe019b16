/* ratelimit: so many requests a second from a network, with a burst. A token bucket is kept as the
 * time at which it would be full again, so that an idle network costs nothing. */
#define _GNU_SOURCE
#include "nets.h"

#include <stddef.h>
#include <stdio.h>

enum { MICRO = 1000000 };

static struct ccf_filter ratelimit;
static long rate = 20, per = 1000, burst = 40, wait_most, bits4 = 32, bits6 = 64, networks = 100000;

struct delayed {
    struct ccf_timer timer;
    struct ccf_bundle *bundle;
};

static const struct ccf_option options[] = {
    {"rate", CCF_NUMBER, &rate, 1, 1000000, NULL, "arrivals in the period `per`, default 20"},
    {"per", CCF_TIME, &per, 1, 86400000, NULL, "the period of `rate`, default 1s"},
    {"burst", CCF_NUMBER, &burst, 1, 1000000, NULL, "arrivals at once after a pause, default 40"},
    {"wait", CCF_TIME, &wait_most, 0, 60000, NULL,
     "longest delay; others are refused at once; default 0s"},
    {"prefix", CCF_NUMBER, &bits4, 0, 32, NULL, "bits of an IPv4 network, default 32"},
    {"prefix6", CCF_NUMBER, &bits6, 0, 128, NULL, "bits of an IPv6 network, default 64"},
    {"networks", CCF_NUMBER, &networks, 1, 10000000, NULL, "networks remembered, default 100000"},
    {"limit", CCF_NUMBER, &ratelimit.limit, 1, 1000000, NULL,
     "connections delayed, default: as many as descriptors allow"},
    {0}};

static uint64_t now_micro(void) {
    return ccf_now() * 1000;
}

/* A bucket that is full again is as good as one that was never used. */
static bool is_full(const struct ccf_net *net) {
    return net->time <= now_micro();
}

static void on_time(struct ccf_timer *timer) {
    ccf_pass(CCF_OF(timer, struct delayed, timer)->bundle);
}

static void arrive(struct ccf_bundle *bundle) {
    static uint64_t next_sweep;
    uint64_t now = now_micro();
    uint64_t each = (uint64_t)per * 1000 / (uint64_t)rate;
    if (bundle->from.family == 0) {
        ccf_pass(bundle); /* a Unix socket has no network */
        return;
    }
    if (ccf_nets() >= (size_t)networks && now >= next_sweep) {
        ccf_net_sweep(is_full);
        next_sweep = now + MICRO;
    }
    long bits = bundle->from.family == 4 ? bits4 : bits6;
    struct ccf_net *net =
        ccf_nets() < (size_t)networks ? ccf_net(&bundle->from, (unsigned)bits) : NULL;
    if (net == NULL) {
        /* More networks are active than can be told apart: better to serve than to refuse them all.
         */
        ccf_pass(bundle);
        return;
    }
    uint64_t full = net->time > now ? net->time : now;
    uint64_t room = each * (uint64_t)(burst - 1);
    uint64_t delay = full - now > room ? full - now - room : 0;
    if (delay > (uint64_t)wait_most * 1000) {
        ccf_refuse(bundle, "too many",
                   bundle->complete ? "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n"
                                      "Connection: close\r\n\r\n"
                                    : NULL);
        return;
    }
    net->time = full + each;
    struct delayed *delayed = bundle->own;
    delayed->bundle = bundle;
    delayed->timer.call = on_time;
    if (delay == 0 || !ccf_timer_set(&delayed->timer, (now + delay + 999) / 1000))
        ccf_pass(bundle);
}

static const char *check(void) {
    static char reason[160];
    if (rate > per * 1000) {
        snprintf(
            reason, sizeof reason,
            "rate, which is %ld, must not exceed per, which is %ld microseconds: lower rate or "
            "raise per",
            rate, per * 1000);
        return reason;
    }
    /* One that delays takes what it can hold; one that does not takes what is asked for. */
    if (wait_most > 0)
        ratelimit.traits |= CCF_HOLDS;
    return NULL;
}

static struct ccf_filter ratelimit = {
    .name = "ratelimit",
    .about = "limits how often a network is served",
    .options = options,
    .needs = CCF_ANY,
    .extra = sizeof(struct delayed),
    .check = check,
    .arrive = arrive,
};

int main(int argc, char **argv) {
    return ccf_main(&ratelimit, argc, argv);
}
