/* work.c: what a busy session borrows: its input rest, its queue's block, the memory of its action.
 *
 * Called by the engine's other files. State: a worker's pool of blocks, with their buffers, so
 * that a warm request allocates nothing, and a reserve for an action that finds no memory. Must not
 * know rules, nor how bytes come and go. */
#include "engine.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { WORK_RESERVE = 64 * 1024 /* most room for output that is put by */ };

static _Atomic bool work_short; /* memory has been: what nobody needs is not kept from then on */

__attribute__((cold, noinline)) static struct nest__work *work_new(void) {
    struct nest__work *work = malloc(sizeof *work);
    if (work != NULL) {
        memset(work, 0, offsetof(struct nest__work, match));
    }
    return work;
}

struct nest__work *nest__borrow(nest_session *s) {
    if (s->work == NULL) {
        struct nest__worker *worker = nest__worker();
        struct nest__work *work = worker->spare;
        if (work != NULL) {
            worker->spare = work->next;
            worker->spares--;
        } else {
            work = work_new();
            if (work == NULL) {
                return nest__lend(s) ? s->work : NULL;
            }
        }
        s->work = work;
    }
    return s->work;
}

static void work_free(struct nest__work *work) {
    nest__on_drop(work);
    for (struct nest__block *block = work->arena, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    free(work->rest);
    nest__queue_free(&work->out.queue);
    free(work->text);
    free(work);
}

/* -- the reserve */

/* A block in which an action answers without asking for memory; NULL: there is none. */
static struct nest__work *work_reserve(void) {
    struct nest__work *work = work_new();
    struct nest__block *arena = malloc(sizeof *arena + NEST__ARENA);
    size_t most = nest__config.output_buffer;
    size_t cap = (most < WORK_RESERVE ? most : WORK_RESERVE) + 1;
    if (work == NULL || arena == NULL || nest__queue_reserve(&work->out.queue, cap) < 0) {
        free(arena);
        free(work);
        return NULL;
    }
    *arena = (struct nest__block){.size = NEST__ARENA};
    work->arena = arena;
    return work;
}

int nest__worker_begin(struct nest__worker *worker) {
    return nest__backtracking_begin(&worker->scratch.backtracker);
}

int nest__worker_reserve(struct nest__worker *worker) {
    worker->reserve = work_reserve();
    return worker->reserve == NULL ? -ENOMEM : 0;
}

/* The buffers of the reserve become those of a block that has no memory for them. */
static void work_join(struct nest__work *work, struct nest__work *reserve) {
    nest__queue_join(&work->out.queue, &reserve->out.queue);
    reserve->arena->next = work->arena;
    work->arena = reserve->arena;
    reserve->arena = NULL;
    work_free(reserve);
}

__attribute__((cold, noinline)) bool nest__lend(nest_session *s) {
    struct nest__worker *worker = nest__worker();
    struct nest__work *reserve = worker->reserve;
    atomic_store(&work_short, true);
    if (reserve == NULL || s->phase != NEST__ACTING || (s->work != NULL && s->work->matching)) {
        return false;
    }
    worker->reserve = NULL;
    if (s->work == NULL) {
        s->work = reserve;
    } else {
        work_join(s->work, reserve);
    }
    s->work->apart = true;
    worker->lent = s->work;
    return true;
}

__attribute__((cold, noinline)) bool nest__lent_long(nest_session *s) {
    struct nest__worker *worker = nest__worker();
    if (worker->lent == NULL || worker->lent != s->work) {
        return true;
    }
    if (nest__worker_reserve(worker) < 0) {
        return false;
    }
    worker->lent->apart = worker->lent->text_cap > NEST__KEPT;
    worker->lent = NULL;
    return true;
}

/* A block that the pool does not take. */
__attribute__((cold, noinline)) static void work_apart(struct nest__worker *worker,
                                                       struct nest__work *work) {
    if (work != worker->lent) {
        work_free(work);
        return;
    }
    free(work->rest);
    free(work->text);
    work->rest = NULL;
    work->rest_cap = 0;
    work->text = NULL;
    work->text_cap = 0;
    nest__queue_drop(&work->out.queue); /* an action that failed may have left two blocks */
    work->apart = false;
    worker->reserve = work;
    worker->lent = NULL;
}

/* -- the pool */

void nest__settle(nest_session *s) {
    struct nest__work *work = s->work;
    if (work == NULL || s->phase == NEST__ACTING) {
        return;
    }
    if (work->rest_n > 0 || work->out.queue.n > 0 || work->out.queue.flight > 0 || work->matching ||
        nest__on_holds(work)) {
        if (work->apart) {
            (void)nest__lent_long(s);
        }
        return;
    }
    struct nest__worker *worker = nest__worker();
    s->work = NULL;
    work->rest_at = 0;
    work->out.counts = false; /* the next client's window is another */
    if (worker->spares >= NEST__SPARE_WORK || work->apart) {
        work_apart(worker, work);
        return;
    }
    work->next = worker->spare;
    worker->spare = work;
    worker->spares++;
}

void nest__released(nest_session *s) {
    struct nest__work *work = s->work;
    if (work != NULL) {
        nest__on_drop(work);
        nest__arena_clear(work);
        work->rest_n = 0;
        nest__out_drop(s);
        work->matching = false;
        nest__settle(s);
    }
    nest__on_release(s);
    s->phase = NEST__FREE;
}

static void work_pool_free(struct nest__worker *worker) {
    for (struct nest__work *work = worker->spare, *next; work != NULL; work = next) {
        next = work->next;
        work_free(work);
    }
    worker->spare = NULL;
    worker->spares = 0;
    nest__queue_free(&worker->blocks);
    worker->blocks_n = 0;
}

void nest__worker_rests(struct nest__worker *worker) {
    if (atomic_load_explicit(&work_short, memory_order_relaxed)) {
        work_pool_free(worker);
    }
}

void nest__worker_clear(struct nest__worker *worker) {
    work_pool_free(worker);
    if (worker->reserve != NULL) {
        work_free(worker->reserve);
    }
    nest__backtracking_end(&worker->scratch.backtracker);
    memset(worker, 0, sizeof *worker);
}

static int work_rest_grow(struct nest__work *work, uint32_t cap) {
    if (cap < nest__config.input_buffer + NEST__BEHIND_REST) {
        cap = nest__config.input_buffer + NEST__BEHIND_REST;
    }
    if (work->rest_cap < cap) {
        uint8_t *rest = realloc(work->rest, cap);
        if (rest == NULL) {
            atomic_store(&work_short, true);
            return -ENOMEM;
        }
        work->rest = rest;
        work->rest_cap = cap;
    }
    return 0;
}

int nest__rest_room(struct nest__work *work, uint32_t cap) {
    if (work->rest_at > 0) {
        memmove(work->rest, work->rest + work->rest_at, work->rest_n);
        work->rest_at = 0;
    }
    return work_rest_grow(work, cap);
}

int nest__rest_behind(nest_session *s, struct nest__action *action, uint32_t n) {
    struct nest__work *work = nest__borrow(s);
    uint32_t message = action->message.n;
    if (work == NULL) {
        return -ENOMEM;
    }
    if (work->rest_cap >= n && work->rest_at <= work->rest_cap - n) {
        return 0;
    }
    if (message > 0) {
        memmove(work->rest, action->message.p, message);
    }
    if (work->rest_n > 0) {
        memmove(work->rest + message, work->rest + work->rest_at, work->rest_n);
    }
    work->rest_at = message;
    int error = work_rest_grow(work, message + n);
    if (message > 0) {
        action->message.p = work->rest;
    }
    return error;
}

int nest__rest_add(nest_session *s, const uint8_t *p, uint32_t n) {
    struct nest__work *work = nest__borrow(s);
    if (work == NULL || (work->apart && !nest__lent_long(s)) ||
        nest__rest_room(work, work->rest_n + n) < 0) {
        return -ENOMEM;
    }
    memcpy(work->rest + work->rest_n, p, n);
    work->rest_n += n;
    return 0;
}

uint32_t nest__in_space(nest_session *s, struct nest__chan *chan, uint8_t **p) {
    struct nest__work *work = s->work;
    (void)chan;
    if (work == NULL || work->rest_n == 0 || nest__rest_room(work, work->rest_n + 1) < 0) {
        return 0; /* without memory: pump is lent the bytes, and finds that it cannot keep them */
    }
    *p = work->rest + work->rest_n;
    return work->rest_cap - work->rest_n;
}

int nest__own(nest_session *s, struct nest__window *window) {
    struct nest__action *action = nest__acting(s);
    if (window == NULL) {
        window = action == NULL ? NULL : action->window;
    }
    if (window == NULL || !window->lent) {
        return 0;
    }
    uint32_t message = action == NULL ? 0 : action->message.n;
    if (message == 0 && window->n > 0) {
        if (nest__rest_add(s, window->p, window->n) < 0) {
            return -ENOMEM;
        }
    } else if (message > 0) { /* nothing is unread but the window; its front may have been taken */
        struct nest__work *work = nest__borrow(s);
        if (work == NULL || nest__rest_room(work, message + window->n) < 0) {
            return -ENOMEM;
        }
        memcpy(work->rest, action->message.p, message);
        memcpy(work->rest + message, window->p, window->n);
        work->rest_at = message;
        work->rest_n = window->n;
        action->message.p = work->rest;
    }
    *window = (struct nest__window){NULL, 0, false};
    return 0;
}

/* A block more; without memory that of the reserve. Not inlined: a warm request has one. */
__attribute__((noinline)) static struct nest__block *work_arena(nest_session *s, size_t n) {
    struct nest__block *block = NULL;
    size_t size = n < NEST__ARENA ? NEST__ARENA : n;
    if (size <= SIZE_MAX - sizeof *block && (block = malloc(sizeof *block + size)) != NULL) {
        *block = (struct nest__block){.next = s->work->arena, .size = size};
        s->work->arena = block;
    } else if (n <= NEST__ARENA && nest__lend(s)) {
        block = s->work->arena;
    }
    return block;
}

char *nest__arena_take(nest_session *s, size_t n) {
    struct nest__work *work = nest__borrow(s);
    if (work == NULL) {
        return NULL;
    }
    struct nest__block *block = work->arena;
    if ((block == NULL || block->size - block->used < n) && (block = work_arena(s, n)) == NULL) {
        return NULL;
    }
    char *p = block->bytes + block->used;
    block->used += n;
    return p;
}

void nest__arena_clear(struct nest__work *work) {
    struct nest__block *keep = NULL;
    for (struct nest__block *block = work->arena, *next; block != NULL; block = next) {
        next = block->next;
        if (block->size <= NEST__KEPT && (keep == NULL || block->size > keep->size)) {
            free(keep);
            keep = block;
        } else {
            free(block);
        }
    }
    if (keep != NULL) {
        keep->next = NULL;
        keep->used = 0;
    }
    work->arena = keep;
}
