/* groups.c: the directives about groups.
 *
 * Called by actions. No state. Must not know where members are. */
#include "groups.h"

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

int nest_join_group(nest_session *s, nest_group group) {
    struct nest__groups_key key;
    int error = s->reason != NEST_OPEN ? -ECANCELED : groups_key(&key, group);
    return groups_failed(error == 0 ? nest__groups_join(s, &key) : error);
}

void nest_leave_group(nest_session *s, nest_group group) {
    struct nest__groups_key key;
    if (groups_key(&key, group) == 0) {
        nest__groups_leave(s, &key);
    }
}

uint64_t nest_members_group(nest_session *s, nest_group group) {
    struct nest__groups_key key;
    (void)s;
    return groups_key(&key, group) == 0 ? nest__groups_members(&key) : 0;
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

int nest_broadcast_list_group(nest_session *s, nest_group group, bool all, size_t count,
                              const nest_bytes items[]) {
    struct nest__send_text text;
    return nest__send_list(&text, count, items) == 0 ? groups_send(s, group, all, &text) : -1;
}

int nest_vbroadcastf_group(nest_session *s, nest_group group, bool all, const char *format,
                           va_list arguments) {
    struct nest__send_text text;
    int composed = nest__send_format(&text, format, arguments);
    return composed == 0 ? groups_send(s, group, all, &text) : -1;
}

int nest_broadcastf_group(nest_session *s, nest_group group, bool all, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int result = nest_vbroadcastf_group(s, group, all, format, arguments);
    va_end(arguments);
    return result;
}
