/* recorder.c: makes the file of rings, maps it, and writes records.
 *
 * Called by debug.c. State: the descriptor and the layout of the file; what this process has mapped
 * of it. The blocks of the file are allocated when it is made, because a write to a mapped hole
 * would end the process if the disk is full. Must not know which events there are. */
#include "recorder.h"
#include "../../config/config.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RECORDER_PATH = 4096 };

/* scope: process */
static struct {
    int fd; /* -1: there is no file, or this process needs it no more */
    uint32_t header, stride, records, threads;
    char *own; /* rings that this process writes to; NULL: none */
    void *mapped;
    size_t size; /* of what is mapped */
} recorder = {.fd = -1};

static uint64_t recorder_date(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* -- names */

/* Counts the bytes of the text, and writes them unless `to` is NULL. */
struct recorder_text {
    char *to;
    size_t n;
};

static void recorder_words(struct recorder_text *text, const char *key, const char *words) {
    const char *parts[] = {key, " ", words, "\n"};
    for (unsigned i = 0; i < 4; i++) {
        for (const char *p = parts[i]; *p != '\0'; p++, text->n++) {
            if (text->to != NULL) {
                text->to[text->n] = i == 2 && (unsigned char)*p < ' ' ? '?' : *p;
            }
        }
    }
}

static size_t recorder_names(char *to) {
    struct recorder_text text = {to, 0};
    recorder_words(&text, "server", nest__spec_name);
    recorder_words(&text, "file", nest__spec_file);
    recorder_words(&text, "model", nest__model_name);
    recorder_words(&text, "tool", nest__tool_version);
    for (int reason = 0; reason < NEST_REASONS; reason++) {
        recorder_words(&text, "reason", nest__reason_word((enum nest_reason)reason));
    }
    for (unsigned state = 0; state < nest__state_count; state++) {
        recorder_words(&text, "state", nest__state_names[state]);
    }
    for (unsigned rule = 0; rule < NEST__RULES; rule++) {
        const char *name = nest__rules[rule].name; /* NULL: there is no rule */
        recorder_words(&text, "rule", name != NULL ? name : "");
    }
    for (int timer = 0; timer < NEST__TIMERS; timer++) {
        recorder_words(&text, "timer", nest__timers[timer].name);
    }
    return text.n;
}

/* -- the file */

static size_t recorder_page(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t recorder_round(size_t bytes) {
    return (bytes + recorder_page() - 1) / recorder_page() * recorder_page();
}

static const char *recorder_path(char name[RECORDER_PATH]) {
    const char *path = nest__config.trace_file;
    if (path != NULL && path[0] != '\0') {
        return path;
    }
    nest_strlcpy(name, nest__spec_name, RECORDER_PATH);
    nest_strlcat(name, ".trace", RECORDER_PATH);
    return name;
}

/* Whether a worker has written to the file: a server that could not start leaves one without. */
static bool recorder_was_used(int fd, const struct nest__recorder_file *file) {
    if (file->stride < sizeof(struct nest__recorder_ring)) {
        return true; /* no server has written this */
    }
    for (uint32_t i = 1; i < file->rings; i++) {
        uint64_t next = 1;
        off_t at = (off_t)file->header + (off_t)i * file->stride;
        if (pread(fd, &next, sizeof next, at) != (ssize_t)sizeof next || next != 0) {
            return true;
        }
    }
    return false;
}

/* The file of an earlier run gets another name: it may say why that run has ended. */
static int recorder_make_way(const char *path) {
    struct nest__recorder_file file = {0};
    char old[RECORDER_PATH];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd == -1) {
        return errno == ENOENT ? 0 : -errno;
    }
    bool trace = read(fd, &file, sizeof file) == (ssize_t)sizeof file &&
                 memcmp(file.magic, NEST__DEBUG_MAGIC, sizeof file.magic) == 0;
    bool written = flock(fd, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK; /* by a server */
    bool used = !trace || recorder_was_used(fd, &file);
    close(fd);
    if (!trace || written) {
        return trace ? -EBUSY : -EEXIST;
    }
    if (!used) {
        return unlink(path) == -1 ? -errno : 0;
    }
    if (nest_strlcpy(old, path, sizeof old) + sizeof ".old" > sizeof old) {
        return -ENAMETOOLONG;
    }
    nest_strlcat(old, ".old", sizeof old);
    return rename(path, old) == -1 ? -errno : 0;
}

static int recorder_file(const char *path, size_t bytes) {
    int error = recorder_make_way(path);
    if (error != 0) {
        return error;
    }
    recorder.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (recorder.fd == -1) {
        return -errno;
    }
    (void)flock(recorder.fd, LOCK_EX | LOCK_NB); /* while the supervisor lives */
    error = -posix_fallocate(recorder.fd, 0, (off_t)bytes);
    if (error != 0) {
        (void)unlink(path);
    }
    return error;
}

static int recorder_map(size_t at, size_t bytes, size_t own) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, recorder.fd, (off_t)at);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    recorder.mapped = memory;
    recorder.size = bytes;
    recorder.own = (char *)memory + own;
    return 0;
}

static void recorder_describe(uint32_t workers, uint32_t threads, size_t names) {
    struct nest__recorder_file *file = recorder.mapped;
    file->version = NEST__DEBUG_VERSION;
    file->header = recorder.header;
    file->rings = 1 + workers * threads;
    file->records = recorder.records;
    file->stride = recorder.stride;
    file->record = sizeof(struct nest__recorder_record);
    file->began = nest__clock_ns();
    file->date = recorder_date();
    file->workers = workers;
    file->threads = threads;
    file->text = sizeof *file;
    file->length = (uint32_t)names;
    recorder_names((char *)recorder.mapped + sizeof *file);
    memcpy(file->magic, NEST__DEBUG_MAGIC, sizeof file->magic); /* last: the rest is complete */
}

int nest__recorder_create(uint32_t workers, uint32_t threads) {
    char name[RECORDER_PATH];
    const char *path = recorder_path(name);
    uint64_t rings = 1 + (uint64_t)workers * threads;
    size_t names = recorder_names(NULL),
           header = recorder_round(sizeof(struct nest__recorder_file) + names);
    uint64_t least = header + rings * recorder_page(), size = nest__config.trace_size;
    if (size < least) {
        char has[32], needs[32];
        nest__size_text(nest__config.trace_size, has);
        nest__memory_text(least, needs);
        nest__say("cannot start: traceSize %s is too small for %llu rings of %zu bytes: it must be "
                  "%s or more",
                  has, (unsigned long long)rings, recorder_page(), needs);
        return -EINVAL;
    }
    recorder.header = (uint32_t)header;
    recorder.stride = (uint32_t)((size - header) / rings / recorder_page() * recorder_page());
    recorder.records = (uint32_t)((recorder.stride - sizeof(struct nest__recorder_ring)) /
                                  sizeof(struct nest__recorder_record));
    recorder.threads = threads;
    int error = recorder_file(path, header + rings * recorder.stride);
    error = error == 0 ? recorder_map(0, header + recorder.stride, header) : error;
    if (error == -EEXIST) {
        nest__say("cannot start: traceFile %s: the file there is no trace of a server; choose "
                  "another name",
                  path);
    } else if (error == -EBUSY) {
        nest__say("cannot start: traceFile %s: a server that runs writes there; choose another "
                  "name",
                  path);
    } else if (error != 0) {
        nest__say("cannot start: traceFile %s: %s", path, strerror(-error));
    } else {
        recorder_describe(workers, threads, names);
    }
    return error;
}

int nest__recorder_open(uint32_t worker) {
    int error = 0;
    (void)munmap(recorder.mapped, recorder.size);
    recorder.own = NULL;
    if (worker != NEST__DEBUG_NOBODY) {
        size_t first = 1 + (size_t)worker * recorder.threads;
        error = recorder_map(recorder.header + first * recorder.stride,
                             (size_t)recorder.threads * recorder.stride, 0);
    }
    if (error != 0) {
        nest__say("no memory for the trace of a worker: %s", strerror(-error));
    }
    close(recorder.fd);
    recorder.fd = -1;
    return error;
}

void nest__recorder_add(uint32_t thread, const struct nest__recorder_event *event) {
    if (recorder.own == NULL) {
        return;
    }
    struct nest__recorder_ring *to = (void *)(recorder.own + (size_t)thread * recorder.stride);
    uint64_t number = atomic_load_explicit(&to->next, memory_order_relaxed);
    struct nest__recorder_record *record = &to->record[number % recorder.records];
    atomic_store_explicit(&record->number, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* before the record changes */
    record->kind = (uint8_t)event->kind;
    record->role = (uint8_t)event->role;
    record->what = (uint16_t)event->what;
    record->time = nest__clock_ns();
    record->connection = event->connection;
    record->value = event->value;
    atomic_store_explicit(&record->number, (uint32_t)number + 1, memory_order_release);
    atomic_store_explicit(&to->next, number + 1, memory_order_release);
}
