/* turns.c: the processes of a simulated server, their turns and their deaths.
 *
 * Stands for the supervisor. State: which process this is. One process runs at a time; the others
 * wait for their turn, wherever they are: between two commands, or at a point inside of the runtime
 * where they touch memory that others see. There they are killed as well. */
#include "loops.h"

#include "../../../workers/children.h"
#include "../../../workers/dispatchers.h"
#include "../../../service/region/region.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS_MOST = 4000 /* until everything is at rest; for each process */ };

struct sim *sim;
uint32_t sim_own = SIM_PROCESSES;
const bool nest__policy_many = true, nest__policy_successive = false;
static pid_t turns_supervisor;
static struct nest__child turns_children[SIM_MOST]; /* as the supervisor knows them */
static long turns_held; /* allocations that a loop leaves, before what it keeps for later */

/* -- chance */

#define SIM_SEED sim->seed
#define SIM_DRAWN sim->drawn
#include "../random.c"

void sim_broken(const char *format, ...) {
    va_list arguments;
    fflush(stdout);
    fprintf(stderr, "broken: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n  seed %llu, after %u conversations, in process %u, message %u\n",
            (unsigned long long)sim->seed, (unsigned)sim->opened, (unsigned)sim_own,
            (unsigned)sim->numbers);
    sim->broken = true;
    sem_post(&sim->back);
    _exit(9);
}

static void turns_tell(const char *format, ...) NEST_FORMAT(1, 2);
static void turns_tell(const char *format, ...) {
    if (sim->verbose) {
        va_list arguments;
        va_start(arguments, format);
        printf("%llu: ", (unsigned long long)sim->drawn);
        vprintf(format, arguments);
        printf("\n");
        fflush(stdout);
        va_end(arguments);
    }
}

void nest__say(const char *format, ...) {
    if (sim->verbose) {
        va_list arguments;
        va_start(arguments, format);
        printf("# ");
        vprintf(format, arguments);
        printf("\n");
        fflush(stdout);
        va_end(arguments);
    }
}

/* -- in a process that has turns */

void sim_yield(void) {
    int saved = errno;
    if (sim_own < SIM_PROCESSES) {
        sem_post(&sim->back);
        while (sem_wait(&sim->processes[sim_own].go) == -1) {
        }
    }
    errno = saved;
}

void sim_point(void) {
    if (sim_own < SIM_PROCESSES && sim_chance(sim->points)) {
        sim_yield();
    }
}

uint64_t sim_clock(void) {
    sim_point();
    return ++sim->clock;
}

/* The lock, for processes that have turns: a process that waits for it gives its turn to others. */
static int turns_lock(pthread_mutex_t *mutex) {
    int error;
    while ((error = pthread_mutex_trylock(mutex)) == EBUSY) {
        sim_yield();
    }
    sim_point();
    return error;
}

static void turns_check_memory(void) {
    if (nest__slots_taken() != 0) {
        sim_broken("a loop has ended, and serves %u clients", (unsigned)nest__slots_taken());
    }
    for (unsigned i = 0; i < GROUPS_CHAINS; i++) {
        if (groups_chains[i] != NULL) {
            sim_broken("a group is left, and nobody is its member");
        }
    }
    for (uint32_t slot = 0; slot < nest__slots_ever(); slot++) {
        if (mail_all[slot].first != NULL || mail_all[slot].bytes != 0 || mail_all[slot].behind) {
            sim_broken("messages are left for slot %u", (unsigned)slot);
        }
    }
    if (nest__faults_held != turns_held + (long)mail_spares) {
        sim_broken("%ld allocations are left", nest__faults_held - turns_held - (long)mail_spares);
    }
}

static int turns_serve(uint32_t process) {
    nest__report_open(process);
    nest__serial = (uint16_t)(sim->processes[process].life * sim->count + process);
    book_begin_mailbox();
    if (nest__mail_serve() != 0 || nest__region_serve() != 0) {
        sim_broken("a loop cannot begin");
    }
    int status = nest__serve_worker(process, sim->processes[process].life, NULL);
    turns_check_memory();
    nest__report_close(true);
    return status;
}

static void turns_send(void) {
    book_begin_mailbox();
    (void)nest__mail_serve();
    (void)nest__region_serve();
    while (sim->phase != SIM_ENDS) {
        sim->processes[sim_own].busy = false;
        if (sim->phase == SIM_RUNS && sim_chance(20)) {
            acts_serve();
        }
        sim_yield();
    }
}

static void turns_fork(uint32_t process) {
    struct sim_process *child = &sim->processes[process];
    bool serves = process < sim->count;
    sem_init(&child->go, 1, 0);
    if (serves) {
        nest__report_clear(process);
    }
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(0);
        sim_own = process;
        while (sem_wait(&child->go) == -1) {
        }
        nest__shared_seal();
        int status = 0;
        if (serves) {
            status = turns_serve(process);
        } else {
            turns_send();
        }
        if (status != 0) {
            sim_broken("a loop ends with status %d", status);
        }
        child->over = true;
        sem_post(&sim->back);
        _exit(EXIT_SUCCESS);
    }
    if (pid == -1) {
        sim_broken("cannot fork: %s", strerror(errno));
    }
    child->pid = pid;
    child->lives = true;
    if (serves) {
        turns_children[process].pid = pid;
    }
}

/* -- what the supervisor does */

int nest__supervisor_prepare(uint32_t workers) {
    (void)workers;
    return 0;
}

int nest__supervise(void) {
    return 0;
}

bool nest__supervises(void) {
    return false;
}

pid_t nest__supervisor(void) {
    return turns_supervisor;
}

void nest__supervisor_wake(void) {
}

const char *nest__crash_consequence(void) {
    return "the simulation ends";
}

uint32_t nest__dispatchers_most(void) {
    return sim->count;
}

uint32_t nest__children_most(void) {
    return sim->count;
}

uint32_t nest__children_seen(void) {
    return sim->count;
}

const struct nest__child *nest__child(uint32_t worker) {
    return &turns_children[worker];
}

void nest__children_hurry(void) {
}

static uint32_t turns_living(void) {
    uint32_t living = 0;
    for (uint32_t process = 0; process <= sim->count; process++) {
        living += sim->processes[process].lives;
    }
    return living;
}

bool nest__supervises_none(void) {
    return turns_living() == 0;
}

/* A process has died: what the others can see of it is still there. */
static void turns_died(uint32_t process) {
    struct sim_process *child = &sim->processes[process];
    child->lives = child->busy = false;
    child->dead = true;
    book_died(process);
    variables_died(process);
}

static void turns_kill(uint32_t process) {
    struct sim_process *child = &sim->processes[process];
    turns_tell("process %u is killed", (unsigned)process);
    kill(child->pid, SIGKILL);
    (void)waitpid(child->pid, NULL, 0);
    sim->deaths++;
    turns_died(process);
}

/* The supervisor notices. */
static void turns_reap(uint32_t process) {
    struct sim_process *child = &sim->processes[process];
    child->dead = false;
    child->life++;
    if (process < sim->count) {
        nest__alive_reaped(process);
        nest__groups_reaped(process);
        nest__region_reaped(process);
        turns_children[process].pid = 0;
        book_reaped(process);
        if (child->inside && !sim->asks && lock->state == LOCK_SOUND) {
            sim_broken("process %u has died inside $lock, and its variables pass for sound",
                       (unsigned)process);
        }
    }
    child->inside = false;
}

/* Variables that nobody can trust: all processes end, and begin anew. */
static void turns_give_up(void) {
    turns_tell("the variables are given up");
    if (!sim->inside || sim->asks) {
        sim_broken("the variables are given up, and nobody has died inside $lock");
    }
    sim->given_up++;
    if (turns_living() > 0) { /* else they would be made anew before variables_check */
        (void)nest__region_mind();
    }
    for (uint32_t process = 0; process <= sim->count; process++) {
        if (sim->processes[process].lives) {
            turns_kill(process);
        }
        if (sim->processes[process].dead) {
            turns_reap(process);
        }
    }
    variables_check();
    if (nest__region_mind() != 1) {
        sim_broken("all processes have ended, and the variables are not made anew");
    }
    variables_anew();
}

static void turns_mind(bool at_once) {
    for (uint32_t process = 0; process <= sim->count; process++) {
        struct sim_process *child = &sim->processes[process];
        if (child->dead && (at_once || sim_chance(10))) {
            turns_reap(process);
        }
        if (nest__region_pause()) {
            turns_give_up();
        }
        if (!child->lives && !child->dead && !child->over && (at_once || sim_chance(20))) {
            turns_fork(process);
        }
    }
}

/* -- turns */

static void turns_give(uint32_t process) {
    struct sim_process *child = &sim->processes[process];
    struct timespec until;
    int status;
    child->busy = true;
    sem_post(&child->go);
    for (uint32_t waits = 0;; waits++) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / (1000 * 1000 * 1000);
        until.tv_nsec %= 1000 * 1000 * 1000;
        if (sem_timedwait(&sim->back, &until) == 0) {
            break;
        }
        if (errno == ETIMEDOUT && waitpid(child->pid, &status, WNOHANG) == child->pid) {
            sim_broken("process %u ends by itself (status %x)", (unsigned)process,
                       (unsigned)status);
        }
        if (waits == 600) {
            kill(child->pid, SIGKILL);
            sim_broken("process %u hangs", (unsigned)process);
        }
    }
    if (sim->broken) {
        _exit(9);
    }
    if (child->over) {
        (void)waitpid(child->pid, NULL, 0);
        child->lives = child->busy = false;
        if (process < sim->count) {
            turns_children[process].pid = 0;
        }
    }
}

static uint32_t turns_draw(void) {
    uint32_t process;
    do {
        process = sim_random(sim->count + 1);
    } while (!sim->processes[process].lives && turns_living() > 0);
    return process;
}

/* Until all loops are at rest. */
static void turns_rest(enum sim_phase phase) {
    sim->phase = phase;
    for (uint32_t process = 0; process <= sim->count; process++) {
        sim->processes[process].looked = false;
    }
    for (uint32_t quiet = 0, rounds = 0; quiet < 3; rounds++) {
        bool busy = false;
        if (rounds > TURNS_MOST) {
            sim_broken("the loops do not come to rest");
        }
        turns_mind(true);
        for (uint32_t process = 0; process <= sim->count; process++) {
            if (sim->processes[process].lives) {
                turns_give(process);
                busy = busy || sim->processes[process].busy;
            }
        }
        busy = busy || turns_living() <= sim->count;
        quiet = busy ? 0 : quiet + 1;
    }
}

static void turns_check(void) {
    turns_tell("everything comes to rest");
    turns_rest(SIM_SETTLES);
    book_check();
    variables_check();
    turns_rest(SIM_DRAINS);
    book_check();
    book_forget_all();
    sim->phase = SIM_RUNS;
    sim->next_check = sim->opened + 1 + sim_random(40);
}

static void turns_run(void) {
    while (sim->opened < sim->conversations) {
        turns_mind(false);
        if (turns_living() == 0) {
            turns_mind(true);
        }
        uint32_t process = turns_draw();
        if (sim_chance(sim->kills) && sim_chance(10)) {
            turns_kill(process);
        } else {
            turns_give(process);
        }
        if (sim->opened >= sim->next_check || !book_has_space() ||
            sim->operations_n == SIM_OPERATIONS) {
            turns_check();
        }
    }
    turns_check();
    sim->phase = SIM_ENDS;
    for (uint32_t turn = 0; turns_living() > 0; turn++) {
        if (turn > TURNS_MOST * 100) {
            sim_broken("the loops do not end");
        }
        turns_give(turns_draw());
    }
    variables_check();
    variables_end();
}

/* -- a life */

static uint32_t turns_of(const uint32_t *values, unsigned count) {
    return values[sim_random(count)];
}
#define TURNS_DRAW(...)                                                                            \
    turns_of((const uint32_t[]){__VA_ARGS__},                                                      \
             sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void turns_temper(void) {
    sim->count = 2 + sim_chance(40);
    sim->clients = 1 + sim_random(8);
    sim->output = TURNS_DRAW(64, 300, 3000, 20000, 65536);
    sim->lossy = sim_chance(50);
    sim->asks = sim_chance(60);
    sim->drains = sim_chance(50);
    sim->points = TURNS_DRAW(0, 2, 10, 40);
    sim->kills = TURNS_DRAW(0, 0, 2, 10);
    sim->floods = TURNS_DRAW(0, 0, 3, 15);
    if (sim->floods > 0) { /* messages so large that they fill a mailbox */
        sim->output = TURNS_DRAW(20000, 65536);
    }
    sim->large = TURNS_DRAW(0, 5, 40);
    sim->stalls = TURNS_DRAW(0, 2, 20);
    sim->resets = TURNS_DRAW(0, 1, 3);
    sim->listens = TURNS_DRAW(2, 20, 100);
    sim->locks = TURNS_DRAW(0, 10, 40);
    sim->meets = TURNS_DRAW(15, 40);
    sim->groups = 1 + sim_random(SIM_GROUPS);
    sim->next_check = 1 + sim_random(40);
}

static void turns_prepare(void) {
    long before = nest__faults_held;
    if (nest__workers_prepare() != 0) {
        sim_broken("cannot prepare");
    }
    long prepared = nest__faults_held;
    nest__config.max_clients = sim->count * sim->clients;
    if (nest__on_start() != 0 || nest__shared_prepare(sim->count) != 0) {
        sim_broken("cannot start");
    }
    turns_held = before + nest__faults_held - prepared;
}

static int run(uint64_t seed, uint32_t conversations, bool verbose) {
    sim = mmap(NULL, sizeof *sim, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((void *)sim == MAP_FAILED || sem_init(&sim->back, 1, 0) == -1) {
        perror("loops");
        return 1;
    }
    sim->seed = seed;
    sim->conversations = conversations;
    sim->verbose = verbose;
    turns_supervisor = getpid();
    turns_temper();
    nest__config.input_buffer = 8192;
    nest__config.output_buffer = sim->output;
    nest__config.shared_size = "64K";
    turns_prepare();
    variables_begin();
    turns_run();
    nest__worker_clear(nest__worker()); /* each loop has had a copy */
    if (nest__faults_held != turns_held) {
        sim_broken("%ld allocations are left", nest__faults_held - turns_held);
    }
    if (verbose) {
        printf(
            "%u loops, %u clients, %llu messages, %llu updates, %llu deaths, %llu times full, %llu "
            "times given up\n",
            (unsigned)sim->count, (unsigned)sim->opened, (unsigned long long)sim->messages_all,
            (unsigned long long)sim->operations_all, (unsigned long long)sim->deaths,
            (unsigned long long)sim->full, (unsigned long long)sim->given_up);
    }
    return 0;
}
