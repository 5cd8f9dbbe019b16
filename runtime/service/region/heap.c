/* heap.c: memory for $alloc: blocks within one piece of memory, which processes share.
 *
 * Called with the lock held. State: all of it is in the memory. Must not know what is stored there.
 *
 * The memory is tiled by blocks: each begins with a word that says its size and whether it is used.
 * Free blocks are in lists by size (two levels, as in TLSF), so that taking and giving need
 * constant time. A process may be killed at any instruction. Therefore the words alone are the
 * truth, and each change of the tiling is one store: whenever it happens, the blocks before and
 * after it are whole. All else, the lists and what a block knows of the one before it, is made
 * again from the words (nest__heap_recover). */
#include "heap.h"

#include <stdatomic.h>
#include <string.h>

enum {
    HEAP_ALIGN = 16,
    HEAP_LEAST = 32, /* bytes of a block: its word, two links, and its size at its end */
    HEAP_PARTS = 16, /* sizes between two powers of two */
    HEAP_SMALL = HEAP_ALIGN * HEAP_PARTS, /* sizes below have a list each */
    HEAP_POWERS = 34,                     /* as many as a terabyte needs */
    HEAP_LOOKS = 32                       /* blocks of the list of the same size that are tried */
};

/* In the word of a block, beside its size. */
#define HEAP_USED UINT64_C(1)
#define HEAP_BEHIND_FREE                                                                           \
    UINT64_C(2) /* the block before it is free, and its size is before the word */
#define HEAP_SIZE (~UINT64_C(15))

struct heap_block {
    _Atomic uint64_t word;
    struct heap_block *next, *prev; /* of a free block */
};

/* The end is a used block without bytes. */
struct heap {
    struct heap_block *first, *end; /* NULL: there is no space for a block */
    uint64_t powers;                /* which of `parts` are not 0 */
    uint32_t parts[HEAP_POWERS];    /* which lists are not empty */
    struct heap_block *lists[HEAP_POWERS][HEAP_PARTS];
};

static struct heap *heap; /* scope: server */

static uint64_t heap_word(const struct heap_block *block) {
    return atomic_load_explicit(&block->word, memory_order_relaxed);
}

static uint64_t heap_size(const struct heap_block *block) {
    return heap_word(block) & HEAP_SIZE;
}

/* What was written before is there, if this is. */
static void heap_store(struct heap_block *block, uint64_t word) {
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&block->word, word, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static struct heap_block *heap_at(struct heap_block *block, uint64_t bytes) {
    return (struct heap_block *)((char *)block + bytes);
}

static struct heap_block *heap_next(struct heap_block *block) {
    return heap_at(block, heap_size(block));
}

/* -- the lists of free blocks --------------------------------------------------------------------
 */

static unsigned heap_list(uint64_t size, unsigned *part) {
    if (size < HEAP_SMALL) {
        *part = (unsigned)(size / HEAP_ALIGN);
        return 0;
    }
    unsigned bit = 63 - (unsigned)__builtin_clzll(size);
    *part = (unsigned)(size >> (bit - 4)) & (HEAP_PARTS - 1);
    return bit - 7;
}

static void heap_insert(struct heap_block *block) {
    unsigned part, power = heap_list(heap_size(block), &part);
    struct heap_block **list = &heap->lists[power][part];
    block->prev = NULL;
    block->next = *list;
    if (*list != NULL) {
        (*list)->prev = block;
    }
    *list = block;
    heap->parts[power] |= UINT32_C(1) << part;
    heap->powers |= UINT64_C(1) << power;
}

static void heap_remove(struct heap_block *block) {
    unsigned part, power = heap_list(heap_size(block), &part);
    if (block->next != NULL) {
        block->next->prev = block->prev;
    }
    if (block->prev != NULL) {
        block->prev->next = block->next;
        return;
    }
    heap->lists[power][part] = block->next;
    if (block->next == NULL) {
        heap->parts[power] &= ~(UINT32_C(1) << part);
        if (heap->parts[power] == 0) {
            heap->powers &= ~(UINT64_C(1) << power);
        }
    }
}

/* Tells the block behind a free block of it. */
static void heap_tell(struct heap_block *block) {
    struct heap_block *behind = heap_next(block);
    uint64_t size = heap_size(block);
    memcpy((char *)behind - sizeof size, &size, sizeof size);
    heap_store(behind, heap_word(behind) | HEAP_BEHIND_FREE);
}

/* The first block of a list whose blocks are all large enough; NULL: there is none. */
static struct heap_block *heap_larger(uint64_t size) {
    unsigned part, power;
    if (size >= HEAP_SMALL) {
        size += (UINT64_C(1) << (63 - (unsigned)__builtin_clzll(size) - 4)) - 1;
    }
    power = heap_list(size, &part);
    uint32_t parts = heap->parts[power] & (UINT32_MAX << part);
    if (parts == 0) {
        uint64_t powers = heap->powers & (UINT64_MAX << power << 1);
        if (powers == 0) {
            return NULL;
        }
        power = (unsigned)__builtin_ctzll(powers);
        parts = heap->parts[power];
    }
    return heap->lists[power][__builtin_ctz(parts)];
}

static struct heap_block *heap_find(uint64_t size) {
    struct heap_block *block = heap_larger(size);
    if (block != NULL) {
        return block;
    }
    unsigned part, power = heap_list(size, &part);
    block = heap->lists[power][part];
    for (int looks = 0; block != NULL && heap_size(block) < size; looks++) {
        block = looks < HEAP_LOOKS ? block->next : NULL;
    }
    return block;
}

/* -- the heap ------------------------------------------------------------------------------------
 */

/* Its record, a block, and what is lost where they are aligned. */
size_t nest__heap_least(void) {
    return sizeof *heap + HEAP_LEAST + 4 * (size_t)HEAP_ALIGN;
}

void nest__heap_begin(void *memory, size_t size) {
    uintptr_t start = (uintptr_t)memory, end = start + size;
    start = (start + HEAP_ALIGN - 1) / HEAP_ALIGN * HEAP_ALIGN;
    heap = (struct heap *)start;
    /* Words are 8 bytes before a multiple of 16, so that what follows them is aligned. */
    uintptr_t first = (start + sizeof *heap + HEAP_ALIGN) / HEAP_ALIGN * HEAP_ALIGN - 8;
    uintptr_t last = end / HEAP_ALIGN * HEAP_ALIGN - 8;
    if (start + sizeof *heap > end) {
        heap = NULL;
        return;
    }
    if (last < first + HEAP_LEAST || end < first + HEAP_LEAST) {
        return;
    }
    heap->first = (struct heap_block *)first;
    heap->end = (struct heap_block *)last;
    heap_store(heap->end, HEAP_USED);
    heap_store(heap->first, last - first);
    heap_insert(heap->first);
    heap_tell(heap->first);
}

void *nest__heap_take(size_t n) {
    if (heap == NULL || n > (UINT64_C(1) << 39)) {
        return NULL;
    }
    uint64_t size = ((uint64_t)n + 8 + HEAP_ALIGN - 1) & HEAP_SIZE;
    size = size < HEAP_LEAST ? HEAP_LEAST : size;
    struct heap_block *block = heap_find(size);
    if (block == NULL) {
        return NULL;
    }
    uint64_t whole = heap_size(block);
    heap_remove(block);
    if (whole - size >= HEAP_LEAST) {
        struct heap_block *rest = heap_at(block, size);
        heap_store(rest, whole - size); /* within the free block: nobody sees it yet */
        heap_store(block, size | HEAP_USED);
        heap_tell(rest);
        heap_insert(rest);
    } else {
        struct heap_block *behind = heap_next(block);
        heap_store(block, whole | HEAP_USED);
        heap_store(behind, heap_word(behind) & ~HEAP_BEHIND_FREE);
    }
    return (char *)block + sizeof block->word;
}

bool nest__heap_give(void *p) {
    if (p == NULL) {
        return true;
    }
    struct heap_block *block = (struct heap_block *)((char *)p - sizeof(uint64_t));
    if (heap == NULL || heap->first == NULL || block < heap->first || block >= heap->end ||
        (uintptr_t)p % HEAP_ALIGN != 0 || (heap_word(block) & HEAP_USED) == 0) {
        return false;
    }
    heap_store(block, heap_word(block) & ~HEAP_USED);
    struct heap_block *behind = heap_next(block);
    if ((heap_word(behind) & HEAP_USED) == 0) {
        heap_remove(behind);
        heap_store(block, heap_word(block) + heap_size(behind));
    }
    if ((heap_word(block) & HEAP_BEHIND_FREE) != 0) {
        uint64_t size;
        memcpy(&size, (char *)block - sizeof size, sizeof size);
        struct heap_block *before = (struct heap_block *)((char *)block - size);
        heap_remove(before);
        heap_store(before, heap_word(before) + heap_size(block));
        block = before;
    }
    heap_tell(block);
    heap_insert(block);
    return true;
}

/* The lists are emptied first. Neighbours that are free become one block. */
bool nest__heap_recover(void) {
    if (heap == NULL || heap->first == NULL) {
        return true;
    }
    heap->powers = 0;
    memset(heap->parts, 0, sizeof heap->parts);
    memset(heap->lists, 0, sizeof heap->lists);
    struct heap_block *before = NULL; /* free; not in a list yet */
    for (struct heap_block *block = heap->first; block != heap->end;) {
        uint64_t size = heap_size(block), left = (uint64_t)((char *)heap->end - (char *)block);
        bool used = (heap_word(block) & HEAP_USED) != 0;
        if (size < HEAP_LEAST || size > left) {
            return false;
        }
        struct heap_block *behind = heap_at(block, size);
        if (!used && before != NULL) {
            heap_store(before, heap_size(before) + size);
        } else {
            heap_store(block, size | (used ? HEAP_USED : 0));
        }
        if (used && before != NULL) {
            heap_tell(before);
            heap_insert(before);
        }
        before = used ? NULL : before != NULL ? before : block;
        block = behind;
    }
    heap_store(heap->end, HEAP_USED);
    if (before != NULL) {
        heap_tell(before);
        heap_insert(before);
    }
    return true;
}
