/* disk.c: a file system in memory and in virtual time. See disk.h.
 *
 * Called by cached.c, and in place of the system's calls. State: files, folders, what each path has
 * led to. Files are replaced by rename, overwritten in one moment, linked, removed, and their
 * folders are renamed; times of change have a resolution of a few ms, like those of Linux. */
#include "disk.h"
#include "simulate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { DISK_STATES = 1 << 17, DISK_OPEN = 64, DISK_TICK = 4, DISK_EPOCH = 1000000 /* s */ };

struct disk_file {
    uint32_t state; /* 0: the place is free */
    uint32_t links, opens;
};
struct disk_led { /* since then, a path leads to the state; 0: to none */
    uint64_t since;
    uint32_t state;
};

uint64_t disk_now = 5000;
static struct disk_state disk_states[DISK_STATES];
static uint32_t disk_count; /* of states; from 1 */
static uint32_t disk_versions, disk_inodes;
static struct disk_file disk_all[2 * DISK_PATHS]; /* at most as many files, and those only open */
static struct disk_file *disk_slots[DISK_FOLDERS][DISK_FILES]; /* in the folder, by its place */
static unsigned disk_names[DISK_FOLDERS]; /* the place of the folder that has the name */
static struct {
    struct disk_led *led;
    uint32_t count, cap;
    char text[16];
} disk_paths[DISK_PATHS];
static struct disk_file *disk_open_files[DISK_OPEN];

struct timespec disk_time(void) {
    return (struct timespec){.tv_sec = (time_t)(DISK_EPOCH + disk_now / 1000),
                             .tv_nsec = (long)(disk_now % 1000) * 1000000};
}

static struct timespec disk_tick(void) {
    uint64_t ms = disk_now - disk_now % DISK_TICK;
    return (struct timespec){.tv_sec = (time_t)(DISK_EPOCH + ms / 1000),
                             .tv_nsec = (long)(ms % 1000) * 1000000};
}

uint8_t disk_byte(uint32_t version, uint64_t at) {
    uint32_t v = version;
    for (uint64_t i = 0; i < at && at < 5; i++) {
        v /= 26;
    }
    return (uint8_t)('a' + (at < 5 ? v % 26 : (version + at * 7 + at / 100) % 26));
}

uint32_t disk_version(const uint8_t bytes[5]) {
    uint32_t version = 0;
    for (unsigned i = 5; i > 0; i--) {
        version = version * 26 + (uint32_t)(bytes[i - 1] - 'a');
    }
    return version;
}

const char *disk_path(unsigned path) {
    return disk_paths[path].text;
}

/* -- what paths lead to */

static struct disk_file **disk_slot(unsigned path) {
    return &disk_slots[disk_names[path / DISK_FILES]][path % DISK_FILES];
}

static uint32_t disk_leads(unsigned path) {
    const struct disk_file *file = *disk_slot(path);
    return file == NULL ? 0 : file->state;
}

static void disk_note(void) {
    for (unsigned path = 0; path < DISK_PATHS; path++) {
        uint32_t count = disk_paths[path].count, state = disk_leads(path);
        if (count > 0 && disk_paths[path].led[count - 1].state == state) {
            continue;
        }
        if (count == disk_paths[path].cap) {
            disk_paths[path].cap = count * 2 + 8;
            disk_paths[path].led =
                (realloc)(disk_paths[path].led, disk_paths[path].cap * sizeof(struct disk_led));
        }
        disk_paths[path].led[disk_paths[path].count++] = (struct disk_led){disk_now, state};
    }
}

static bool disk_fits(uint32_t number, uint32_t version, const struct disk_state *as) {
    const struct disk_state *state = &disk_states[number];
    return number != 0 && (version == 0 || state->version == version) && state->size == as->size &&
           state->inode == as->inode && state->mode == as->mode &&
           state->modified.tv_sec == as->modified.tv_sec &&
           state->modified.tv_nsec == as->modified.tv_nsec;
}

bool disk_was(unsigned path, uint32_t version, const struct disk_state *as, uint64_t ms) {
    uint64_t until = disk_now; /* of the state */
    for (uint32_t i = disk_paths[path].count; i > 0 && disk_now - until < ms; i--) {
        if (disk_fits(disk_paths[path].led[i - 1].state, version, as)) {
            return true;
        }
        until = disk_paths[path].led[i - 1].since;
    }
    return false;
}

const struct disk_state *disk_is(unsigned path) {
    uint32_t state = disk_leads(path);
    return state == 0 ? NULL : &disk_states[state];
}

static unsigned disk_find(const char *text) {
    unsigned path = 0;
    while (path < DISK_PATHS && strcmp(disk_paths[path].text, text) != 0) {
        path++;
    }
    return path;
}

const struct disk_state *disk_of(const char *text) {
    unsigned path = disk_find(text);
    return path == DISK_PATHS ? NULL : disk_is(path);
}

/* -- changes */

/* The file has another state from now on. */
static struct disk_state *disk_next(struct disk_file *file) {
    if (disk_count + 1 == DISK_STATES) {
        sim_broken(NULL, "more happens to files than is foreseen");
    }
    struct disk_state *state = &disk_states[++disk_count];
    *state = disk_states[file->state];
    state->changed = disk_tick();
    state->since = disk_now;
    file->state = disk_count;
    return state;
}

static void disk_write(struct disk_state *state) {
    state->version = ++disk_versions;
    state->size = sim_chance(5) ? 0 : DRAW(8, 1023, 1024, 1025, 3000, 8000, 30000);
    state->size += state->size > 1100 ? sim_random(state->size) : 0;
    state->modified = state->changed;
}

static struct disk_file *disk_new(void) {
    struct disk_file *file = disk_all;
    while (file->links > 0 || file->opens > 0) {
        file++;
    }
    *file = (struct disk_file){.state = 0};
    struct disk_state *state = disk_next(file);
    state->inode = ++disk_inodes;
    state->mode = S_IFREG | (sim_chance(90) ? 0644 : 0600);
    disk_write(state);
    if (sim_chance(30)) { /* as `cp -p` leaves it */
        state->modified.tv_sec -= (time_t)sim_random(100);
    }
    return file;
}

static void disk_put(struct disk_file **slot, struct disk_file *file) {
    if (*slot != NULL) {
        (*slot)->links--;
    }
    *slot = file;
    if (file != NULL) {
        file->links++;
    }
}

static void disk_swap(void) {
    unsigned one = sim_random(DISK_FOLDERS), two = sim_random(DISK_FOLDERS),
             place = disk_names[one];
    disk_names[one] = disk_names[two];
    disk_names[two] = place;
}

void disk_change(void) {
    struct disk_file **slot = disk_slot(sim_random(DISK_PATHS));
    struct disk_file *file = *slot;
    uint32_t what = sim_random(100);
    if (file == NULL || what < 40) {
        disk_put(slot, disk_new()); /* renamed over it */
    } else if (what < 60) {
        disk_write(disk_next(file)); /* in place, in one moment */
    } else if (what < 75) {
        disk_put(slot, NULL);
    } else if (what < 85) {
        struct disk_state *state = disk_next(file);
        state->mode ^= 0044;
        if (sim_chance(50)) {
            state->modified.tv_sec -= 1;
        }
    } else if (what < 95) {
        (void)disk_next(file); /* another link changes its time, too */
        disk_put(disk_slot(sim_random(DISK_PATHS)), file);
    } else {
        disk_swap();
    }
    disk_note();
}

void disk_begin(void) {
    for (unsigned i = 0; i < DISK_FOLDERS; i++) {
        disk_names[i] = i;
    }
    for (unsigned path = 0; path < DISK_PATHS; path++) {
        snprintf(disk_paths[path].text, sizeof disk_paths[path].text, "d%u/f%u", path / DISK_FILES,
                 path % DISK_FILES);
        if (sim_chance(85)) {
            disk_put(disk_slot(path), disk_new());
        }
    }
    disk_note();
}

void disk_end(void) {
    for (unsigned path = 0; path < DISK_PATHS; path++) {
        (free)(disk_paths[path].led);
    }
}

/* -- in place of the system's calls */

int disk_open(const char *text, bool reads) {
    disk_between();
    unsigned path = disk_find(text);
    struct disk_file *file = path == DISK_PATHS ? NULL : *disk_slot(path);
    int fd = 0;
    if (file == NULL) {
        return -ENOENT;
    }
    if (reads && (disk_states[file->state].mode & 0004) == 0) {
        return -EACCES;
    }
    while (disk_open_files[fd] != NULL) {
        fd++;
    }
    disk_open_files[fd] = file;
    file->opens++;
    return fd;
}

int disk_fstat(int fd, struct stat *to) {
    disk_between();
    const struct disk_state *state = &disk_states[disk_open_files[fd]->state];
    *to = (struct stat){.st_ino = state->inode,
                        .st_dev = 7,
                        .st_mode = state->mode,
                        .st_size = state->size,
                        .st_mtim = state->modified,
                        .st_ctim = state->changed};
    return 0;
}

ssize_t disk_pread(int fd, void *to, size_t n, off_t at) {
    disk_between();
    const struct disk_state *state = &disk_states[disk_open_files[fd]->state];
    size_t left = (uint64_t)at < state->size ? state->size - (size_t)at : 0;
    n = n < left ? n : left;
    n = n > 1 && sim_chance(10) ? n / 2 : n;
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *)to)[i] = disk_byte(state->version, (uint64_t)at + i);
    }
    return (ssize_t)n;
}

int disk_close(int fd) {
    disk_open_files[fd]->opens--;
    disk_open_files[fd] = NULL;
    return 0;
}

void disk_close_all(void) {
    for (int fd = 0; fd < DISK_OPEN; fd++) {
        if (disk_open_files[fd] != NULL) {
            (void)disk_close(fd);
        }
    }
}
