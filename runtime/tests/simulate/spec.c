/* spec.c: what the simulated specifications have in common: no rule decides early, and there is no
 * start-up code.
 *
 * Included by the files with their actions. No state. */
struct nest__step nest__spec_run(struct nest__run *run, uint64_t states, unsigned last,
                                 const uint8_t *start, const uint8_t *p, const uint8_t *end) {
    (void)end;
    if (p == start) {
        nest__spec_active(states, last, &run->active);
    }
    return (struct nest__step){0, p == start ? 0 : run->best_n};
}

int nest__spec_startup(int argc, char **argv) {
    (void)argc, (void)argv;
    return -1;
}
