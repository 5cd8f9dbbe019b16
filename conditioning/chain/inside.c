/* The programs of filters: functions of this program, which a server contains. A filter is a child
 * that runs its function, so that neither its rights nor its root directory have to reach a file.
 *
 * The filters of a server end with its cc-chain: the server starts another one, and the last filter
 * of each would take the links of the server's processes from the other. */
#define _GNU_SOURCE
#include "inside.h"
#include "chain.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct ccc__program *find(const char *name) {
    const struct ccc__program *program = ccc__programs;
    while (program->name != NULL && strcmp(program->name, name) != 0)
        program++;
    return program->name != NULL ? program : NULL;
}

char *program_path(const char *name) {
    return strdup(name);
}

const char *program_check(const char *path) {
    return find(path) != NULL ? NULL : "it is not in this server";
}

void program_run(const char *path, char *const argv[], pid_t chain) {
    const struct ccc__program *program = find(path);
    int count = 0;
    while (argv[count] != NULL)
        count++;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (program == NULL || getppid() != chain)
        return;
    setenv("CC_INSIDE", "1", 1);
    int status = program->main(count, (char **)argv);
    fflush(NULL);
    _exit(status);
}
