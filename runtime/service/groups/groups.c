/* groups.c: the directives about groups.
 *
 * Called by actions. No state. Must not know where members are. Groups belong to the thread of the
 * loop, to which an action on another one comes home. */
#include "groups.h"
#include "../../engine/engine.h"

#include <errno.h>
#include <string.h>

static int groups_failed(int error) {
    if (error != 0) {
        errno = -error;
        return -1;
    }
    return 0;
}

static uint64_t groups_mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* 0 or -errno. Text and numbers name different groups. */
static int groups_key(struct nest__groups_key *key, nest_group group) {
    uint8_t bytes[NEST__GROUPS_WORDS * sizeof(uint64_t)] = {0};
    _Static_assert(sizeof bytes == NEST__GROUPS_NAME + 1, "the length stands before the name");
    if (group.is_text) {
        size_t n = group.text == NULL ? 0 : strlen(group.text);
        if (n == 0 || n > NEST__GROUPS_NAME) {
            return n == 0 ? -EINVAL : -ENAMETOOLONG;
        }
        bytes[0] = (uint8_t)n;
        memcpy(bytes + 1, group.text, n);
    } else {
        memcpy(bytes + 1, &group.number, sizeof group.number);
    }
    memcpy(key->words, bytes, sizeof bytes);
    key->hash = 0;
    for (int i = 0; i < NEST__GROUPS_WORDS; i++) {
        key->hash = groups_mix(key->hash, key->words[i]);
    }
    key->hash += key->hash == 0;
    return 0;
}

__attribute__((noinline)) static int groups_join(nest_session *s, nest_group group) {
    struct nest__groups_key key;
    int error = s->reason != NEST_OPEN ? -ECANCELED : groups_key(&key, group);
    return groups_failed(error == 0 ? nest__groups_join(s, &key) : error);
}

int nest_join_group(nest_session *s, nest_group group) {
    struct nest__trip *trip = nest__at_home(s);
    int result = groups_join(s, group);
    nest__from_home(trip);
    return result;
}

__attribute__((noinline)) static void groups_leave(nest_session *s, nest_group group) {
    struct nest__groups_key key;
    if (groups_key(&key, group) == 0) {
        nest__groups_leave(s, &key);
    }
}

void nest_leave_group(nest_session *s, nest_group group) {
    struct nest__trip *trip = nest__at_home(s);
    groups_leave(s, group);
    nest__from_home(trip);
}

__attribute__((noinline)) static uint64_t groups_members(nest_group group) {
    struct nest__groups_key key;
    return groups_key(&key, group) == 0 ? nest__groups_members(&key) : 0;
}

uint64_t nest_members_group(nest_session *s, nest_group group) {
    struct nest__trip *trip = nest__at_home(s);
    uint64_t members = groups_members(group);
    nest__from_home(trip);
    return members;
}

static int groups_send(nest_session *s, nest_group group, bool all,
                       const struct nest__send_text *text) {
    struct nest__groups_key key;
    int error = groups_key(&key, group);
    if (error == 0 && text->n > 0) {
        error = nest__groups_post(&key, text, all ? NULL : s);
    }
    return groups_failed(error);
}

__attribute__((noinline)) static int groups_items(nest_session *s, nest_group group, bool all,
                                                  size_t count, const nest_bytes items[]) {
    struct nest__send_text text;
    return nest__send_list(&text, count, items) == 0 ? groups_send(s, group, all, &text) : -1;
}

int nest_broadcast_list_group(nest_session *s, nest_group group, bool all, size_t count,
                              const nest_bytes items[]) {
    struct nest__trip *trip = nest__at_home(s);
    int result = groups_items(s, group, all, count, items);
    nest__from_home(trip);
    return result;
}

__attribute__((noinline, format(printf, 4, 0))) static int
groups_formatted(nest_session *s, nest_group group, bool all, const char *format,
                 va_list arguments) {
    struct nest__send_text text;
    int composed = nest__send_format(&text, format, arguments);
    return composed == 0 ? groups_send(s, group, all, &text) : -1;
}

int nest_vbroadcastf_group(nest_session *s, nest_group group, bool all, const char *format,
                           va_list arguments) {
    struct nest__trip *trip = nest__at_home(s);
    int result = groups_formatted(s, group, all, format, arguments);
    nest__from_home(trip);
    return result;
}

int nest_broadcastf_group(nest_session *s, nest_group group, bool all, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int result = nest_vbroadcastf_group(s, group, all, format, arguments);
    va_end(arguments);
    return result;
}
