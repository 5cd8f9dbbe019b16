/* pass: passes on what arrives. It measures what a hop costs, and makes a chain of nothing else. */
#include "ccfilter.h"

static struct ccf_filter pass = {
    .name = "pass", .about = "passes on what arrives", .arrive = ccf_pass};

int main(int argc, char **argv) {
    return ccf_main(&pass, argc, argv);
}
