/* cached.c: the simulation of fileCache: what workers find in memory while files change.
 *
 * One unit with service/contents/, whose clock and files are disk.c's; the workers and the service
 * process take turns here. Between two accesses of the service process to the store the workers go
 * on, and while a worker looks for a file or reads it, the service process does; files change while
 * they are read; processes die in the middle of what they do. The oracle knows these rules
 * (docs/howto/cache.md):
 *
 * - What a worker finds is a state of the file to which the path led less than a second ago, and as
 *   long as it is open its contents are those of that state alone.
 * - A file that was changed within the last two seconds is not kept, nor one that is too large.
 * - The blocks of all files, of those too that have been taken out and are still open, are at most
 *   as many as the option says, and none belongs to two files.
 * - LRU: the one that leaves has not been used for the longest time (with one worker).
 *
 * State: the workers, what they have open, the order of uses. */
#include "cached.h"

#include "random.c"

#include "disk.c"

struct sim sim;
struct nest__config nest__config = {.max_clients = 100};

enum {
    CACHED_WORKERS = 3,
    CACHED_REPORT = NEST__REPORT_MOST,
    CACHED_OPEN = 40, /* files at once */
    CACHED_REST_MS = 2000,
    CACHED_USES = 100 /* between two looks of the service process */
};

struct cached_open { /* a file that a worker has open */
    bool is;
    uint32_t worker;
    unsigned path;
    uint32_t version; /* of its contents; 0: empty, or not known yet */
    nest_file file;
};

struct cached_object { /* as the policy has it */
    bool there;
    uint64_t used;
    uint64_t size;
};

static struct {
    char *reports[CACHED_WORKERS];
    struct nest__orders orders;
    uint32_t workers;
    bool many; /* a worker serves many clients */
    size_t reserved;
    struct cached_open open[CACHED_OPEN];
    struct cached_object *objects; /* [entries] */
    uint64_t uses;                 /* the time of the last use */
    uint32_t noted[CACHED_USES],
        noted_n;     /* entries that were found since the service process looked */
    unsigned wanted; /* the path that it was told of; DISK_PATHS: none */
    bool ordered;    /* uses have one order: one worker, and the service process goes on alone */
    bool replayed;   /* a service process has died, and the next one read what was used before */
    bool runs;       /* the service process is in a step */
    bool nested;     /* something else happens in the middle of another thing */
    jmp_buf dies;
    uint64_t due; /* ms: its next step; 0: when it is woken */
    uint32_t changes, deaths, between, slow;
    uint64_t hits, misses, loads, evictions;
} cached;

#define BROKEN_MS disk_now
#include "broken.c"

/* -- what service/contents/ asks of the rest of the server */

void *nest__orders_page = &cached.orders;

uint64_t nest__clock_ms(void) {
    return disk_now;
}

size_t nest__report_reserve(size_t bytes) {
    cached.reserved = bytes;
    return CACHED_REPORT;
}

void *nest__report_page(uint32_t worker) {
    return cached.reports[worker];
}

static uint32_t cached_worker; /* that runs */

void *nest__report_own(size_t at) {
    return cached.reports[cached_worker] + at;
}

uint32_t nest__worker_processes(void) {
    return cached.many ? 1 : nest__config.max_clients;
}

uint64_t nest__memory_most(void) {
    return UINT64_MAX;
}

void nest__memory_text(uint64_t bytes, char to[32]) {
    snprintf(to, 32, "%llu", (unsigned long long)bytes);
}

void nest__say(const char *format, ...) {
    sim_broken(NULL, "%s", format);
}

bool nest__is_local(int fd) {
    (void)fd;
    return true;
}

int nest__file_find(const char *path, int flags, bool waits) {
    (void)waits;
    return disk_open(path, (flags & O_PATH) == 0);
}

double nest__spec_cache(uint64_t size, uint64_t uses, uint64_t now, double least) {
    (void)now;
    return size % 5 == 0 ? (double)NAN : least + (double)uses / (double)size;
}

/* -- the oracle */

/* At any moment. */
static void cached_bound(void) {
    static bool taken[1 << 10];
    uint64_t blocks = 0;
    memset(taken, 0, sizeof taken);
    for (uint32_t number = 1; number <= nest__contents.entries; number++) {
        const struct nest__entry *entry = &nest__contents.entry[number];
        if (atomic_load(&entry->version) == 0) {
            continue;
        }
        uint64_t bytes = 0;
        for (uint32_t block = entry->block; block != NEST__STORE_NONE;
             block = nest__contents.extent[block].next) {
            for (uint32_t i = 0; i < nest__contents.extent[block].blocks; i++) {
                if (block + i > nest__contents.blocks || taken[block + i]) {
                    sim_broken(NULL, "block %u belongs to two files, or does not exist",
                               (unsigned)(block + i));
                }
                taken[block + i] = true;
                blocks++;
                bytes += NEST__STORE_BLOCK;
            }
        }
        if (bytes < entry->size) {
            sim_broken(NULL, "a file of %llu bytes has %llu", (unsigned long long)entry->size,
                       (unsigned long long)bytes);
        }
    }
    if (blocks * NEST__STORE_BLOCK > nest__contents.size) {
        sim_broken(NULL, "%llu bytes of files are in memory, and the option says %llu",
                   (unsigned long long)blocks * NEST__STORE_BLOCK,
                   (unsigned long long)nest__contents.size);
    }
}

static bool cached_lru(void) {
    return nest__contents.policy == NEST__LRU || nest__contents.policy == NEST__LRU_THRESHOLD;
}

static uint32_t cached_victim(struct nest__policy *policy, uint64_t size) {
    uint32_t victim = nest__policy_victim(policy, size), least = nest__contents.entries;
    for (uint32_t object = 0; object < nest__contents.entries; object++) {
        if (cached.objects[object].there &&
            (least == nest__contents.entries ||
             cached.objects[object].used < cached.objects[least].used)) {
            least = object;
        }
    }
    if ((victim < nest__contents.entries && !cached.objects[victim].there) ||
        (victim == nest__contents.entries) != (least == nest__contents.entries)) {
        sim_broken(NULL, "the policy lets a file leave that is not there");
    }
    if (cached_lru() && cached.ordered && !cached.replayed && victim != least) {
        sim_broken(NULL, "LRU: entry %u leaves, and entry %u has not been used for longer",
                   (unsigned)victim + 1, (unsigned)least + 1);
    }
    cached.evictions++;
    return victim;
}

static void cached_enter(struct nest__policy *policy, uint32_t object, uint64_t key,
                         uint64_t size) {
    const struct nest__entry *entry = &nest__contents.entry[object + 1];
    const struct disk_state *now = disk_of(entry->path);
    if (cached.objects[object].there) {
        sim_broken(NULL, "a file comes into memory in the place of another one");
    }
    if (now != NULL && now->inode == entry->inode && disk_now - now->since < CACHED_REST_MS) {
        sim_broken(NULL, "%s was changed %llu ms ago, and is kept", entry->path,
                   (unsigned long long)(disk_now - now->since));
    }
    if (entry->size > nest__contents.threshold || size < entry->size) {
        sim_broken(NULL, "%s is too large, and is kept", entry->path);
    }
    cached.objects[object] = (struct cached_object){true, ++cached.uses, size};
    cached.loads++;
    nest__policy_enter(policy, object, key, size);
}

static void cached_leave(struct nest__policy *policy, uint32_t object, bool evicted) {
    if (!cached.objects[object].there) {
        sim_broken(NULL, "a file leaves that is not there");
    }
    cached.objects[object].there = false;
    nest__policy_leave(policy, object, evicted);
}

/* What was found since the last step, in its order. */
static void cached_uses(void) {
    for (uint32_t i = 0; i < cached.noted_n; i++) {
        struct cached_object *object = &cached.objects[cached.noted[i] - 1];
        object->used = object->there ? ++cached.uses : 0;
    }
    cached.noted_n = 0;
}

/* -- the workers */

static void cached_as(uint32_t worker) {
    cached_worker = worker;
    contents_own = nest__report_own(nest__contents.at);
}

static void cached_begin_worker(uint32_t worker) {
    memset(cached.reports[worker], 0, CACHED_REPORT + cached.reserved);
    cached_worker = worker;
    (void)nest__contents_serve();
}

/* Some of a file that is open. */
static void cached_read(struct cached_open *open) {
    static uint8_t bytes[1 << 16];
    bool first = open->version == 0;
    uint64_t size = open->file.size, at = first ? 0 : sim_random((uint32_t)size + 1);
    size_t room = first ? sizeof bytes : 1 + sim_random(5000);
    cached_as(open->worker);
    int64_t n = nest__contents_read(open->file.fd, bytes, room, at);
    uint64_t left = size - at;
    if (n < 0 || (uint64_t)n != (left < room ? left : room)) {
        sim_broken(NULL, "%lld bytes of %s are read of %llu", (long long)n, disk_path(open->path),
                   (unsigned long long)left);
    }
    if (first && size > 0) {
        open->version = disk_version(bytes);
    }
    for (int64_t i = 0; i < n; i++) {
        if (bytes[i] != disk_byte(open->version, at + (uint64_t)i)) {
            sim_broken(NULL, "%s: byte %llu is of another version", disk_path(open->path),
                       (unsigned long long)(at + (uint64_t)i));
        }
    }
}

static void cached_close(struct cached_open *open) {
    cached_as(open->worker);
    nest__contents_close(open->file.fd);
    open->is = false;
}

static void cached_found(struct cached_open *open, uint64_t asked) {
    uint32_t entry = contents_own->words[open->file.fd - NEST__CONTENTS_FD];
    struct disk_state as = {.size = (uint32_t)open->file.size,
                            .inode = (uint32_t)open->file.inode,
                            .mode = open->file.mode,
                            .modified = open->file.mtime};
    open->is = true;
    cached.hits++;
    if (cached.ordered) {
        cached.noted[cached.noted_n++] = entry;
    }
    cached_read(open);
    if (!disk_was(open->path, open->version, &as, NEST__STORE_LIFE + (disk_now - asked))) {
        sim_broken(NULL, "%s is answered as it has not been for a second", disk_path(open->path));
    }
}

static void cached_ask(uint32_t worker, unsigned path) {
    struct cached_open *open = cached.open;
    uint64_t asked = disk_now;
    while (open < cached.open + CACHED_OPEN && open->is) {
        open++;
    }
    if (open == cached.open + CACHED_OPEN || cached.noted_n == CACHED_USES) {
        return;
    }
    sim.opened++;
    cached_as(worker);
    *open = (struct cached_open){.worker = worker, .path = path};
    if (nest__contents_open(disk_path(path), &open->file)) {
        cached_found(open, asked);
        return;
    }
    cached.misses++;
    const struct disk_state *is = disk_is(path);
    if (is != NULL && (is->mode & 0004) != 0 && cached.wanted == DISK_PATHS) {
        struct stat about = {.st_mode = is->mode,
                             .st_size = is->size,
                             .st_mtim = is->modified,
                             .st_ctim = is->changed};
        uint64_t before = contents_own->wanted;
        nest__contents_want(disk_path(path), &about);
        cached.wanted = cached.ordered && contents_own->wanted != before ? path : DISK_PATHS;
    }
}

/* A worker does something. */
static void cached_work(void) {
    struct cached_open *open = &cached.open[sim_random(CACHED_OPEN)];
    uint32_t worker = sim_random(cached.workers);
    bool alone = !(cached.ordered && cached.runs);
    if (open->is && sim_chance(60)) {
        sim_chance(70) ? cached_close(open) : cached_read(open);
    } else if (alone) { /* small numbers are asked for more often */
        cached_ask(worker, sim_random(1 + sim_random(DISK_PATHS)));
    }
}

/* -- the service process */

static void cached_forget(void) {
    nest__policy_free(fill.policy);
    free(fill.files);
    free(fill.taken);
    free(fill.pinned);
    free(fill.limbo);
    free(fill.spares);
    free(fill.used);
    free(fill.wanted);
    memset(&fill, 0, sizeof fill);
    disk_close_all();
    for (uint32_t object = 0; object < nest__contents.entries; object++) {
        cached.objects[object].there = false;
    }
}

static void cached_begin_service(void) {
    cached.nested = true; /* nothing happens meanwhile */
    if (fill_begin() != 0) {
        sim_broken(NULL, "the service process does not begin");
    }
    cached.nested = false;
    cached.due = disk_now;
}

static void cached_die(void) {
    cached.runs = false;
    cached.replayed = true;
    cached_forget();
    cached_begin_service();
}

/* What was told is done: the path was used then. */
static void cached_wanted(void) {
    if (cached.wanted < DISK_PATHS) {
        uint32_t entry = fill_find(disk_path(cached.wanted));
        if (entry != NEST__STORE_NONE) {
            cached.objects[entry - 1].used = ++cached.uses;
        }
    }
    cached.wanted = DISK_PATHS;
}

static void cached_step(void) {
    if (setjmp(cached.dies) != 0) {
        cached_die();
        cached.wanted = DISK_PATHS;
        return;
    }
    cached.runs = true;
    cached_uses();
    int ms = fill_step(NULL, 0);
    cached_wanted();
    cached.runs = false;
    cached.due = ms < 0 ? 0 : disk_now + (uint64_t)ms;
}

static bool cached_is_due(void) {
    struct pollfd waits[NEST__TASK_WAITS];
    return fill_waits(waits) == 1 &&
           (poll(waits, 1, 0) == 1 || (cached.due != 0 && disk_now >= cached.due));
}

/* -- what happens in the middle of other things */

static void cached_in_worker(void) {
    cached_bound();
    if (!cached.nested && !cached.runs && sim_chance(cached.between) && !cached.ordered) {
        uint32_t worker = cached_worker;
        cached.nested = true;
        sim_chance(30) ? disk_change() : cached_step();
        cached.nested = false;
        cached_as(worker);
    }
}

static void cached_in_service(void) {
    cached_bound();
    if (cached.nested || !cached.runs) {
        return;
    }
    if (sim_random(10000) < cached.deaths) {
        longjmp(cached.dies, 1);
    }
    if (sim_chance(cached.between)) {
        cached.nested = true;
        cached_work();
        cached.nested = false;
    }
}

void disk_between(void) {
    if (cached.nested || !cached.runs) {
        return;
    }
    cached_in_service();
    if (sim_chance(cached.changes)) {
        disk_change();
    }
    if (sim_chance(cached.changes)) {
        disk_now += sim_chance(cached.slow) ? sim_random(1500) : sim_random(8);
    }
}

/* -- the life */

static void cached_draw(void) {
    static char text[64];
    unsigned policy = sim_chance(50) ? (unsigned)NEST__LRU : sim_random(NEST__POLICIES);
    cached.workers = 1 + sim_random(CACHED_WORKERS);
    cached.ordered = cached.workers == 1 && sim_chance(70);
    cached.replayed = false;
    cached.many = sim_chance(50);
    cached.changes = DRAW(0, 1, 3, 10);
    cached.deaths = DRAW(0, 0, 1, 5);
    cached.between = DRAW(0, 1, 5, 20);
    cached.slow = DRAW(0, 5, 30);
    cached.wanted = DISK_PATHS;
    int n = snprintf(text, sizeof text, "%s %uK", nest__policy_names[policy],
                     (unsigned)DRAW(64, 64, 100, 300));
    if (policy == NEST__LRU_THRESHOLD) {
        snprintf(text + n, sizeof text - (size_t)n, " %uK", (unsigned)DRAW(3, 16));
    }
    nest__config.file_cache = text;
    if (sim.verbose) {
        printf("fileCache %s, %u workers%s\n", text, (unsigned)cached.workers,
               cached.ordered ? ", uses in one order" : "");
    }
}

static void cached_begin(void) {
    disk_begin();
    if (nest__contents_check() != 0 || nest__contents_start() != 0) {
        sim_broken(NULL, "fileCache %s is refused", nest__config.file_cache);
    }
    cached.orders.seen = cached.workers;
    cached.objects = (calloc)(nest__contents.entries, sizeof *cached.objects);
    for (uint32_t worker = 0; worker < cached.workers; worker++) {
        cached.reports[worker] = (malloc)(CACHED_REPORT + cached.reserved);
        cached_begin_worker(worker);
    }
    cached_begin_service();
}

/* It dies with the files that it has open, and another takes its place. */
static void cached_kill(uint32_t worker) {
    for (unsigned i = 0; i < CACHED_OPEN; i++) {
        cached.open[i].is = cached.open[i].is && cached.open[i].worker != worker;
    }
    nest__contents_reaped(worker);
    cached_begin_worker(worker);
    cached.noted_n = 0;
    cached.wanted = DISK_PATHS;
}

static void cached_turn(void) {
    static uint64_t hangs; /* ms: until then the service process gets no time */
    disk_now += sim_chance(2) ? sim_random(3000) : sim_random(12);
    for (uint32_t n = sim_random(6); n > 0; n--) {
        cached_work();
        if (cached.ordered && cached.wanted < DISK_PATHS && cached_is_due() && disk_now >= hangs) {
            cached_step();
        }
    }
    if (sim_chance(cached.changes * 4)) {
        disk_change();
    }
    if (sim_random(10000) < cached.deaths && !cached.ordered) {
        cached_kill(sim_random(cached.workers));
    }
    if (sim_random(2000) <= cached.slow) {
        hangs = disk_now + sim_random(4000);
    }
    if (disk_now >= hangs && cached_is_due()) {
        cached_step();
    }
    cached_bound();
}

static int run(uint64_t seed, uint32_t conversations, bool verbose) {
    sim.seed = seed;
    sim.conversations = conversations;
    sim.verbose = verbose;
    cached_draw();
    cached_begin();
    while (sim.opened < sim.conversations * 10) {
        cached_turn();
    }
    if (sim.verbose) {
        printf("%llu hits, %llu misses, %llu loads, %llu evictions\n",
               (unsigned long long)cached.hits, (unsigned long long)cached.misses,
               (unsigned long long)cached.loads, (unsigned long long)cached.evictions);
    }
    if (sim.conversations >= 1000 && (cached.hits == 0 || cached.loads == 0)) {
        sim_broken(NULL, "nothing was ever found in memory");
    }
    cached_forget();
    (free)(cached.objects);
    for (uint32_t worker = 0; worker < cached.workers; worker++) {
        (free)(cached.reports[worker]);
    }
    disk_end();
    return 0;
}

#include "life.c"
