/* branches.c: marks the branches of actions that run, in the file NEST_BRANCHES, which has a byte
 * for each. All processes and threads of the server map the file. Without NEST_BRANCHES nothing is
 * marked. Must not know what the branches are, nor which model runs it. */
#include "branches.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* scope: server; mapped before there are workers. */
static _Atomic uint8_t *branches_marks;
/* scope: server; the number of marks. */
static size_t branches_n;

int nest__branches_start(void) {
    const char *path = getenv("NEST_BRANCHES");
    if (path == NULL) {
        return 0;
    }
    struct stat file;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd == -1 || fstat(fd, &file) == -1) {
        nest__say("NEST_BRANCHES: cannot open %.200s: %s", path, strerror(errno));
        if (fd != -1) {
            close(fd);
        }
        return 1;
    }
    if (file.st_size > 0) {
        size_t n = (size_t)file.st_size;
        void *marks = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (marks == MAP_FAILED) {
            nest__say("NEST_BRANCHES: cannot map %.200s: %s", path, strerror(errno));
            close(fd);
            return 1;
        }
        branches_marks = marks;
        branches_n = n;
    }
    close(fd);
    return 0;
}

int nest__branch(unsigned number) {
    if (number < branches_n) {
        atomic_store_explicit(&branches_marks[number], 1, memory_order_relaxed);
    }
    return 1;
}
