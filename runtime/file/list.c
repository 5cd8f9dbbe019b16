/* list.c: lists a directory below fileRoot.
 *
 * Called by the engine where it may block. No state. Must not know sessions.
 *
 * The result is one block of memory: the entries, followed by their names. The names are collected
 * first, because their number is not known before the end. */
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
    size_t n, size, room; /* bytes of names with NULs; size of the block; its limit */
    size_t count;
};

/* Itself, its parent, and names of uploads that are under way. */
static bool list_hidden(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || nest__is_reserved(name);
}

/* Grows the block so that it can hold both names and entries. */
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

/* Reads the metadata of an entry. Returns false if it no longer exists. */
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

/* Resizes the block to its final size, moves the names to its end, and fills in the entries. */
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
