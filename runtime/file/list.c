/* list.c: what a folder beneath fileRoot holds.
 *
 * Called by the engine where it may block. No state. Must not know sessions, nor who waits.
 *
 * One block of memory: the entries, and behind them their names. The names come first, since how
 * many there are is not known before the last one. */
#include "file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_FIRST = 4096 };

struct list_block {
    char *bytes;
    size_t n, size, room; /* names, each with its NUL; of the block; at most */
    size_t count;
};

/* Itself, its parent, and names of uploads that are under way. */
static bool list_hidden(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || nest__is_reserved(name);
}

/* So that names and entries have room. */
static int list_grow(struct list_block *block, size_t need) {
    size_t size = block->size < LIST_FIRST ? LIST_FIRST : block->size;
    if (need > block->room) {
        return -EOVERFLOW;
    }
    if (need <= block->size) {
        return 0;
    }
    while (size < need) {
        size *= 2;
    }
    size = size < block->room ? size : block->room;
    char *bytes = realloc(block->bytes, size);
    if (bytes == NULL) {
        return -ENOMEM;
    }
    block->bytes = bytes;
    block->size = size;
    return 0;
}

static int list_names(struct list_block *block, DIR *directory) {
    for (;;) {
        errno = 0;
        const struct dirent *found = readdir(directory);
        if (found == NULL) {
            return -errno;
        }
        if (list_hidden(found->d_name)) {
            continue;
        }
        size_t n = strlen(found->d_name) + 1;
        size_t entries = (block->count + 1) * sizeof(nest_entry);
        int error = list_grow(block, entries + block->n + n);
        if (error < 0) {
            return error;
        }
        memcpy(block->bytes + block->n, found->d_name, n);
        block->n += n;
        block->count++;
    }
}

/* What the entry of this name is. False: it is gone. */
static bool list_entry(int directory, const char *name, nest_entry *entry) {
    struct stat about;
    if (fstatat(directory, name, &about, AT_SYMLINK_NOFOLLOW) == -1) {
        return false;
    }
    *entry = (nest_entry){.name = name,
                          .size = S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0,
                          .mtime = about.st_mtim,
                          .mode = about.st_mode};
    return true;
}

static int list_order(const void *a, const void *b) {
    return strcmp(((const nest_entry *)a)->name, ((const nest_entry *)b)->name);
}

/* The block as large as it must be, and the names moved behind the entries. */
static void list_entries(struct list_block *block, int directory, nest_files *list) {
    size_t before = block->count * sizeof(nest_entry);
    char *bytes = realloc(block->bytes, before + block->n);
    block->size = before + block->n;
    block->bytes = bytes == NULL ? block->bytes : bytes;
    nest_entry *entries = (void *)block->bytes;
    const char *name = block->bytes + before;
    memmove(block->bytes + before, block->bytes, block->n);
    for (size_t i = 0; i < block->count; i++, name += strlen(name) + 1) {
        list->count += list_entry(directory, name, &entries[list->count]);
    }
    if (list->count > 1) {
        qsort(entries, list->count, sizeof *entries, list_order);
    }
    list->entries = entries;
}

int nest__file_list(const char *path, size_t room, nest_files *list) {
    struct list_block block = {.room = room};
    int fd = nest__file_find(path, O_RDONLY | O_DIRECTORY, false);
    if (fd < 0) {
        return fd;
    }
    DIR *directory = fdopendir(fd);
    if (directory == NULL) {
        int error = -errno;
        close(fd);
        return error;
    }
    int error = list_names(&block, directory);
    if (error == 0 && block.count > 0) {
        list_entries(&block, fd, list);
    } else {
        free(block.bytes);
        block = (struct list_block){.room = room};
    }
    closedir(directory);
    return error < 0 ? error : (int)block.size;
}
