/* heap.c: the heap of %shared: random requests against a list of what is allocated, and a process
 * that is killed after each number of instructions of a request.
 *
 * usage: heap SEED. Exit status 0: all is well. */
#include "../service/region/heap.c"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 64 * 1024, SLOTS = 200, REQUESTS = 200000, TRIALS = 30, STEPS = 3000 };

struct slot {
    unsigned char *p;
    size_t n;
    unsigned char fill;
};

static struct slot slots[SLOTS];
static char *memory;
static uint64_t seed;

static uint64_t draw(uint64_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % below;
}

static _Noreturn void fail(const char *what) {
    printf("heap: %s (seed in the command)\n", what);
    exit(1);
}

/* The tiling is whole, neighbours are not both free, and the lists hold exactly what is free. */
static void check(void) {
    size_t free_blocks = 0, listed = 0;
    bool before_free = false;
    for (struct heap_block *block = heap->first; block != heap->end; block = heap_next(block)) {
        bool is_free = (heap_word(block) & HEAP_USED) == 0;
        if (block > heap->end || heap_size(block) < HEAP_LEAST) {
            fail("the tiling is broken");
        }
        if (is_free && before_free) {
            fail("two free neighbours");
        }
        if (((heap_word(block) & HEAP_BEHIND_FREE) != 0) != before_free) {
            fail("a block does not know of the one before it");
        }
        free_blocks += is_free;
        before_free = is_free;
    }
    for (unsigned power = 0; power < HEAP_POWERS; power++) {
        for (unsigned part = 0; part < HEAP_PARTS; part++) {
            struct heap_block *block = heap->lists[power][part];
            if ((block != NULL) != ((heap->parts[power] >> part & 1) != 0)) {
                fail("the map of lists is wrong");
            }
            for (; block != NULL; block = block->next) {
                unsigned own, list = heap_list(heap_size(block), &own);
                if (list != power || own != part || (heap_word(block) & HEAP_USED) != 0) {
                    fail("a block is in the wrong list");
                }
                listed++;
            }
        }
        if ((heap->parts[power] != 0) != ((heap->powers >> power & 1) != 0)) {
            fail("the map of powers is wrong");
        }
    }
    if (listed != free_blocks) {
        fail("free blocks are missing in the lists");
    }
}

static void check_slot(const struct slot *slot) {
    for (size_t i = 0; i < slot->n; i++) {
        if (slot->p[i] != slot->fill) {
            fail("the bytes of a block have changed");
        }
    }
}

static size_t draw_size(void) {
    switch (draw(8)) {
    case 0:
        return draw(8000);
    case 1:
        return draw(64 * 1024);
    case 2:
        return 0;
    default:
        return draw(400);
    }
}

/* Takes or gives one block. */
static void request(void) {
    struct slot *slot = &slots[draw(SLOTS)];
    if (slot->p != NULL) {
        check_slot(slot);
        if (!nest__heap_give(slot->p)) {
            fail("a block cannot be given back");
        }
        if (nest__heap_give(slot->p + 8)) {
            fail("what is no block can be given back");
        }
        slot->p = NULL;
        return;
    }
    slot->n = draw_size();
    slot->p = nest__heap_take(slot->n);
    slot->fill = (unsigned char)draw(256);
    if (slot->p != NULL) {
        if ((uintptr_t)slot->p % 16 != 0) {
            fail("a block is not aligned");
        }
        memset(slot->p, slot->fill, slot->n);
    }
}

static void fresh(size_t size) {
    memset(memory, 0, SIZE);
    memset(slots, 0, sizeof slots);
    nest__heap_begin(memory, size);
}

static void random_requests(void) {
    fresh(SIZE);
    for (int i = 0; i < REQUESTS; i++) {
        request();
        if (i % 64 == 0) {
            check();
        }
        if (i % 1024 == 0 && !nest__heap_recover()) {
            fail("a heap that is well cannot be recovered");
        }
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        if (slots[i].p != NULL && !nest__heap_give(slots[i].p)) {
            fail("a block cannot be given back at the end");
        }
    }
    check();
    if (heap_next(heap->first) != heap->end) {
        fail("memory is lost");
    }
    if (nest__heap_take(SIZE) != NULL || nest__heap_take(SIZE_MAX) != NULL) {
        fail("more than there is can be taken");
    }
}

static void little(void) {
    for (size_t size = 0; size < 8192; size += 8) {
        fresh(size);
        unsigned char *p = nest__heap_take(1);
        if (p != NULL && (p < (unsigned char *)memory || p + 1 > (unsigned char *)memory + size)) {
            fail("a block is outside of the memory");
        }
        if (p == NULL && size > 2 * sizeof *heap + 4096) {
            fail("nothing can be taken");
        }
    }
}

static void stepped(pid_t pid, int *status) {
    if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == -1 || waitpid(pid, status, 0) != pid) {
        fail("no single step");
    }
}

/* What the next holder of the lock would find if the child were killed here. */
static void killed_here(void) {
    if (!nest__heap_recover()) {
        fail("a heap cannot be recovered");
    }
    check();
    for (unsigned i = 0; i < SLOTS; i++) { /* all but the one that is being given back */
        if (slots[i].p != NULL &&
            (heap_word((struct heap_block *)(slots[i].p - sizeof(uint64_t))) & HEAP_USED) != 0) {
            check_slot(&slots[i]);
        }
    }
}

/* A child does one request, instruction by instruction. Returns how many there were. */
static unsigned one_request(void) {
    static char kept[SIZE];
    unsigned steps = 0;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        request();
        _exit(0);
    }
    waitpid(pid, &status, 0);
    for (stepped(pid, &status); WIFSTOPPED(status); stepped(pid, &status)) {
        memcpy(kept, memory, SIZE);
        killed_here();
        memcpy(memory, kept, SIZE);
        if (++steps > STEPS) { /* the bytes of a large block are filled one by one */
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            killed_here();
            return steps;
        }
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail("a request failed");
    }
    return steps;
}

static void kills(void) {
    static char kept[SIZE];
    unsigned steps = 0;
    fresh(SIZE);
    for (int trial = 0; trial < TRIALS; trial++) {
        for (int i = 0; i < 40; i++) {
            request();
        }
        uint64_t before = seed;
        memcpy(kept, memory, SIZE);
        steps += one_request();
        memcpy(memory, kept, SIZE);
        seed = before;
        request();
        check();
    }
    printf("heap: recovered at %u instructions\n", steps);
}

int main(int argc, char **argv) {
    seed = strtoull(argc > 1 ? argv[1] : "1", NULL, 10) * 2654435761u + 1;
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return 2;
    }
    random_requests();
    little();
    kills();
    puts("heap: ok");
    return 0;
}
