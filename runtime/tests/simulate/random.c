/* random.c: what is drawn: one sequence of numbers for each seed.
 *
 * Called by all files of a simulation, whose header says with SIM_SEED and SIM_DRAWN where the seed
 * is, and how far the sequence has come. No state of its own. */
static uint64_t random_next(void) { /* splitmix64 */
    uint64_t z = SIM_SEED + ++SIM_DRAWN * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint32_t sim_random(uint32_t below) {
    return below == 0 ? 0 : (uint32_t)((random_next() >> 32) * below >> 32);
}

bool sim_chance(uint32_t percent) {
    return sim_random(100) < percent;
}

uint32_t sim_of(const uint32_t *values, unsigned count) {
    return values[sim_random(count)];
}
