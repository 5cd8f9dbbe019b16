/* variables.c: variables of %shared: updates inside $lock must look as if one came after the other,
 * in an order that agrees with time, also if a holder dies.
 *
 * Called by acts.c and turns.c. State: where the variables are. The oracle: each update adds to a
 * number and notes what it read, so that all updates form one chain. */
#include "loops.h"

#include <stdlib.h>

enum { VARIABLES_MARK = 77777, VARIABLES_INITIAL = 1000 };

struct variables_node { /* by $alloc */
    struct variables_node *next;
    uint64_t number, mark;
};
struct variables_all {
    uint64_t first, second;       /* the same, outside of the lock */
    struct variables_node *nodes; /* a list, the latest first */
    struct variables_node
        *changing; /* it is about to be put into the list, or was taken out of it */
};
const size_t nest__spec_shared_size = (sizeof(struct variables_all) + 15) / 16 * 16;
static struct variables_all *variables; /* scope: server */
static size_t variables_largest;        /* that $alloc gives at the beginning */

void nest__spec_shared_begin(void *all) {
    variables = all;
    variables->first = variables->second = VARIABLES_INITIAL;
    variables->nodes = NULL;
}

/* The one before has died between two of its statements. */
static void variables_repair(void) {
    bool listed = false;
    for (const struct variables_node *node = variables->nodes; node != NULL; node = node->next) {
        listed = listed || node == variables->changing;
    }
    if (!listed) {
        nest_free(variables->changing);
    }
    variables->changing = NULL;
    variables->second = variables->first;
}

static void variables_lock(void) {
    bool asks = sim->asks || sim_own == SIM_PROCESSES; /* the supervisor looks in any case */
    nest_lock_begin(asks);
    if (asks && nest_recovered()) {
        if (!sim->inside) {
            sim_broken("nest_recovered says that a holder has died, and none has");
        }
        sim->inside = false;
        variables_repair();
    }
    if (variables->first != variables->second || variables->changing != NULL) {
        sim_broken("inside $lock somebody else is, or was and has died");
    }
}

static void variables_push(uint64_t number) {
    struct variables_node *node = nest_alloc(sizeof *node + sim_random(200));
    if (node != NULL) {
        variables->changing = node;
        *node = (struct variables_node){variables->nodes, number, number * VARIABLES_MARK};
        sim_point();
        variables->nodes = node;
        sim_point();
        variables->changing = NULL;
    }
}

static void variables_pop(void) {
    struct variables_node *node = variables->nodes;
    if (node->mark != node->number * VARIABLES_MARK) {
        sim_broken("memory of $alloc has changed");
    }
    variables->changing = node;
    sim_point();
    variables->nodes = node->next;
    sim_point();
    nest_free(node);
    variables->changing = NULL;
}

void variables_act(void) {
    struct sim_process *own = &sim->processes[sim_own];
    if (sim->operations_n == SIM_OPERATIONS) {
        return;
    }
    struct sim_operation *operation = &sim->operations[sim->operations_n++];
    *operation = (struct sim_operation){.begun = sim_moment(), .more = 1 + sim_random(9)};
    own->operation = sim->operations_n;
    sim->operations_all++;
    variables_lock();
    operation->value = variables->first;
    operation->read = true;
    sim_point();
    variables->first = operation->value + operation->more;
    sim_point();
    if (variables->nodes == NULL || sim_chance(50)) {
        variables_push(operation->value);
    } else {
        variables_pop();
    }
    variables->second += operation->more;
    nest_lock_end();
    operation->ended = sim_moment();
    own->operation = 0;
}

void variables_died(uint32_t process) {
    struct sim_process *dead = &sim->processes[process];
    if (dead->operation != 0) {
        sim->operations[dead->operation - 1].dead = true;
        sim->inside = true;
        dead->inside = sim->operations[dead->operation - 1].read;
        dead->operation = 0;
    }
}

/* -- the chain */

static int variables_order(const void *a, const void *b) {
    const struct sim_operation *one = a, *two = b;
    if (one->read != two->read) {
        return one->read ? -1 : 1;
    }
    if (one->value != two->value) {
        return one->value < two->value ? -1 : 1;
    }
    return one->dead != two->dead ? (one->dead ? -1 : 1) : 0;
}

/* Those that died may have changed the number, or not. */
void variables_check(void) {
    uint64_t value = sim->value, begun = 0;
    qsort(sim->operations, sim->operations_n, sizeof sim->operations[0], variables_order);
    for (uint32_t i = 0; i < sim->operations_n; i++) {
        const struct sim_operation *operation = &sim->operations[i];
        if (!operation->read) {
            break;
        }
        bool last = i + 1 == sim->operations_n || !operation[1].read;
        uint64_t next = last ? variables->first : operation[1].value;
        if (operation->value != value) {
            sim_broken("an update in $lock reads %llu, and the one before it left %llu",
                       (unsigned long long)operation->value, (unsigned long long)value);
        }
        if (operation->ended != 0 && operation->ended < begun) {
            sim_broken("an update in $lock ends before the one begins that it follows");
        }
        begun = operation->begun > begun ? operation->begun : begun;
        value += operation->dead && next == value ? 0 : operation->more;
    }
    if (variables->first != value) {
        sim_broken("after all updates the variable is %llu, and should be %llu",
                   (unsigned long long)variables->first, (unsigned long long)value);
    }
    sim->value = value;
    sim->operations_n = 0;
}

/* The initial values are there again. */
void variables_anew(void) {
    if (variables->first != VARIABLES_INITIAL || variables->second != VARIABLES_INITIAL ||
        variables->nodes != NULL) {
        sim_broken("variables of %%shared are given up, and have no initial values");
    }
    sim->value = VARIABLES_INITIAL;
    sim->operations_n = 0;
    sim->inside = false;
}

/* -- memory */

static size_t variables_most(void) {
    size_t least = 0, most = (size_t)1 << 20;
    while (most - least > 1) {
        size_t middle = least + (most - least) / 2;
        void *p = nest_alloc(middle);
        nest_free(p);
        *(p != NULL ? &least : &most) = middle;
    }
    return least;
}

void variables_begin(void) {
    variables_lock();
    variables_largest = variables_most();
    sim->value = VARIABLES_INITIAL;
    nest_lock_end();
}

/* All that was allocated is freed, and is one piece again. */
void variables_end(void) {
    variables_lock();
    while (variables->nodes != NULL) {
        variables_pop();
    }
    if (variables_most() != variables_largest) {
        sim_broken("all memory of $alloc is freed, and %zu of %zu bytes are there",
                   variables_most(), variables_largest);
    }
    nest_lock_end();
}
