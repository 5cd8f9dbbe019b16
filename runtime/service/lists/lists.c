/* lists.c: lists of directories, for actions.
 *
 * Called by actions and at join points. State: the running action's lists, in the session's work
 * block. A directory is read as NEST__WORK, because that may block. Must not know how a directory
 * is found. */
#include "lists.h"
#include "../../engine/engine.h"
#include "../../file/access.h"

#include <errno.h>
#include <stdlib.h>

enum { LISTS_MOST = 1024 * 1024 }; /* bytes, of all lists of an action */

struct nest__listed { /* in the action's arena */
    struct nest__listed *next;
    void *entries;
    size_t size;
};

struct nest__need nest__lists_need(void) {
    return (struct nest__need){"lists of folders", NULL, LISTS_MOST, 0};
}

void nest__lists_leave(nest_session *s) {
    for (const struct nest__listed *list = s->work->services.lists.first; list != NULL;
         list = list->next) {
        free(list->entries);
    }
    s->work->services.lists.first = NULL;
}

struct lists_reading {
    const char *path;
    size_t room;
    nest_files *list;
};

static int lists_read_work(void *arg) {
    const struct lists_reading *reading = arg;
    return nest__file_list(reading->path, reading->room, reading->list);
}

static int lists_failed(int error) {
    errno = -error;
    return -1;
}

int nest_file_list(nest_session *s, const char *path, nest_files *list) {
    *list = (nest_files){.count = 0};
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    /* The record is in the arena, which is aligned only for text. */
    const size_t align = _Alignof(struct nest__listed);
    char *room = nest__arena_take(s, sizeof(struct nest__listed) + align);
    if (room == NULL) {
        return lists_failed(-ENOMEM);
    }
    struct nest__listed *entry = (void *)(((uintptr_t)room + align - 1) & ~(uintptr_t)(align - 1));
    struct lists_reading reading = {path == NULL ? "" : path, LISTS_MOST, list};
    for (const struct nest__listed *other = s->work->services.lists.first; other != NULL;
         other = other->next) {
        reading.room -= other->size;
    }
    int size = nest__await_work(s, lists_read_work, &reading);
    if (size < 0) {
        *list = (nest_files){.count = 0};
        return lists_failed(size);
    }
    *entry =
        (struct nest__listed){s->work->services.lists.first, (void *)list->entries, (size_t)size};
    s->work->services.lists.first = entry;
    return 0;
}
