/* blocks.c: `$block` in a loop: an action goes on on a helper thread, and comes back.
 *
 * Called by actions; nest__worker() by the engine. State: records of blocks, the loop's; whose
 * worker and which block it is, of each thread. Must not know the language, nor what the loop waits
 * for.
 *
 * The action leaves through the fiber switch as if it waited for work. The work is to switch to its
 * stack, on the helper; the end of the block switches back to the helper's, the work is done, and
 * the loop resumes the action like any other. A record lives as long as its block: the frames of
 * begin and end do not. Meanwhile the loop only notes events in the session, and the helper writes
 * nothing of it but the action's memory.
 *
 * A function in which the thread changes may not keep an address of thread-local storage, which
 * compilers take for constant: such storage is reached through functions that are not inlined. */
#include "../../engine/engine.h" /* the size of a worker, that a session has a work block */
#include "../../loop/loop.h"
#include "../../platform/platform.h"
#include "../../workers/context.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

struct block {
    struct block *next; /* free ones */
    struct nest__wait wait;
    struct nest__waiter waiter;  /* its context: where the action goes on, on either thread */
    struct nest__context helper; /* where its helper does, when the block has ended */
    struct nest__action *action;
    sigset_t signals; /* the loop's: programs that the block starts inherit them */
    unsigned inner;   /* blocks begun inside it by other functions: they are part of it */
    int error;        /* errno, which comes along */
};

static struct block *blocks_free; /* scope: process, of its one loop */

/* scope: thread */
static _Thread_local struct {
    struct nest__worker *worker;
    bool made; /* by blocks_worker */
    struct block *block;
} blocks_here;

/* The empty assembly keeps compilers from taking one call's answer for the next one's. */
__attribute__((noinline)) struct nest__worker *nest__worker(void) {
    __asm__ volatile("");
    return blocks_here.worker;
}

__attribute__((noinline)) static struct block *blocks_block(void) {
    __asm__ volatile("");
    return blocks_here.block;
}

__attribute__((noinline)) static void blocks_set(struct block *b) {
    __asm__ volatile("");
    blocks_here.block = b;
}

__attribute__((noinline)) int *nest_errno(void) {
    __asm__ volatile("");
    return &errno;
}

void nest__worker_enter(struct nest__worker *worker) {
    blocks_here.worker = worker;
}

void nest__worker_leave(void) {
    if (blocks_here.made) {
        nest__worker_clear(blocks_here.worker);
        munmap(blocks_here.worker, sizeof *blocks_here.worker);
        blocks_here.made = false;
        blocks_here.worker = NULL;
    }
}

/* A helper has one from its first block on. */
static bool blocks_worker(void) {
    if (blocks_here.worker == NULL) {
        void *made = mmap(NULL, sizeof *blocks_here.worker, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED) {
            return false;
        }
        blocks_here.worker = made;
        blocks_here.made = true;
    }
    return true;
}

/* The work: on a helper, or on the loop's thread if there is none. */
static int blocks_work(void *arg) {
    struct block *b = arg;
    sigset_t mine;
    if (!blocks_worker()) {
        return -ENOMEM; /* the loop resumes it in front of its block */
    }
    pthread_sigmask(SIG_SETMASK, &b->signals, &mine);
    blocks_set(b);
    nest__action_put(b->action);
    nest__context_switch(&b->helper, &b->waiter.context);
    nest__action_take();
    blocks_set(NULL);
    pthread_sigmask(SIG_SETMASK, &mine, NULL);
    return 0;
}

static struct block *blocks_take(void) {
    struct block *b = blocks_free;
    if (b != NULL) {
        blocks_free = b->next;
    } else {
        b = malloc(sizeof *b);
    }
    return b;
}

static void blocks_give(struct block *b) {
    b->next = blocks_free;
    blocks_free = b;
}

/* The action goes on on the loop's thread. */
static void blocks_back(nest_session *s, struct block *b) {
    nest__wait_came(s);
    nest__action_put(b->action);
    *nest_errno() = b->error;
    blocks_give(b);
}

void nest_block_begin(nest_session *s) {
    struct block *b = blocks_block();
    int error = *nest_errno();
    if (b != NULL) {
        b->inner++;
        return;
    }
    /* Without memory for all it needs, what follows just runs. */
    if (nest__borrow(s) == NULL || (b = blocks_take()) == NULL) {
        return;
    }
    b->wait =
        (struct nest__wait){.what = NEST__WORK, .chan = &s->c0, .work = blocks_work, .arg = b};
    b->waiter = (struct nest__waiter){.wait = &b->wait};
    b->inner = 0;
    b->error = error;
    if (!nest__wait_may_leave(s, &b->waiter)) {
        *nest_errno() = error;
        blocks_give(b);
        return;
    }
    pthread_sigmask(SIG_SETMASK, NULL, &b->signals);
    b->action = nest__action_take();
    nest__wait_leave(s, &b->waiter);
    if (blocks_block() == b) {
        *nest_errno() = error;
    } else {
        blocks_back(s, b); /* no helper had the memory for it */
    }
}

void nest_block_end(nest_session *s) {
    struct block *b = blocks_block();
    if (b == NULL) {
        return;
    }
    if (b->inner > 0) {
        b->inner--;
        return;
    }
    b->error = *nest_errno();
    nest__context_switch(&b->waiter.context, &b->helper);
    blocks_back(s, b);
}

void nest__blocks_end(void) {
    while (blocks_free != NULL) {
        free(blocks_take());
    }
}
