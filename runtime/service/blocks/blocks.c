/* blocks.c: `$block` in a loop: an action continues on a helper thread, and then returns to the
 * loop.
 *
 * Called by actions; the engine calls nest__worker(). State: the loop's free records of blocks; for
 * each thread, its worker and its block. Must not know the language, nor what the loop waits for.
 *
 * The action leaves the loop through the fiber switch, as if it waited for work. The work, on the
 * helper, switches to the action's stack. The end of the block switches back to the helper's stack.
 * Then the work is done, and the loop resumes the action like any other. Each block has a record,
 * because the stack frames of nest_block_begin and nest_block_end do not live long enough. While
 * the block runs, the loop only records events in the session, and the helper writes only the
 * action's memory. With option processors this is only for actions on the loop: a thread of the
 * pool may block.
 *
 * A function in which the thread changes must not keep an address of thread-local storage, which
 * compilers assume to be constant. Such storage is accessed through functions that are not inlined.
 */
#include "../../engine/engine.h" /* the size of a worker, that a session has a work block */
#include "../../loop/loop.h"
#include "../../platform/platform.h"
#include "../../workers/context.h"
#include "../processors/processors.h"
#include "blocks.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

struct block {
    struct block *next; /* in the list of free records */
    struct nest__wait wait;
    struct nest__waiter waiter;  /* its context: where the action continues, on either thread */
    struct nest__context helper; /* where the helper continues after the block */
    struct nest__action *action;
    sigset_t signals; /* the loop's mask, which programs started by the block inherit */
    unsigned inner;   /* blocks that functions have begun inside this one; they are part of it */
    int error;        /* errno, which moves with the action */
};

static struct block *blocks_free; /* scope: process, of its one loop */

/* scope: thread */
static _Thread_local struct {
    struct nest__worker *worker;
    bool made; /* by blocks_worker */
    struct block *block;
} blocks_here;

/* The empty assembly prevents compilers from reusing the result of an earlier call. */
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

/* Creates the helper's worker at its first block. */
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

/* The work. It runs on a helper, or on the loop's thread if there is no helper. */
static int blocks_work(void *arg) {
    struct block *b = arg;
    sigset_t mine;
    if (!blocks_worker()) {
        return -ENOMEM; /* the loop resumes the action before its block */
    }
    pthread_sigmask(SIG_SETMASK, &b->signals, &mine);
    blocks_set(b);
    nest__action_put(b->action);
    nest__worker()->in_block = true;
    nest__context_switch(&b->helper, &b->waiter.context);
    nest__worker()->in_block = false;
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

/* The action continues on the loop's thread. */
static void blocks_back(nest_session *s, struct block *b) {
    nest__wait_came(s);
    nest__action_put(b->action);
    nest__on_resume(s);
    *nest_errno() = b->error;
    blocks_give(b);
}

void nest_block_begin(nest_session *s) {
    if (NEST__PROCESSORS && nest__processors_number() != 0) {
        nest__block_stay(s);
        return;
    }
    struct block *b = blocks_block();
    int error = *nest_errno();
    if (b != NULL) {
        b->inner++;
        return;
    }
    /* If memory is short, the code of the block runs on the loop. */
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
    nest__on_wait(s);
    nest__wait_leave(s, &b->waiter);
    if (blocks_block() == b) {
        *nest_errno() = error;
    } else {
        blocks_back(s, b); /* no helper had memory for it */
    }
}

void nest_block_end(nest_session *s) {
    if (NEST__PROCESSORS && nest__processors_number() != 0) {
        nest__block_stayed(s);
        return;
    }
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
