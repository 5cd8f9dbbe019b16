/* fork.c: the floor of a process for each connection: forked ahead, each serves one and ends. */
#include "blocking.h"

#include <sys/prctl.h>
#include <sys/wait.h>

int main(int argc, char **argv) {
    floor_start(argc, argv, true);
    for (unsigned idle = 0;; idle--) {
        for (; idle < floor_.workers; idle++) {
            pid_t pid = fork();
            if (pid == -1) {
                floor_fail("fork");
            }
            if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                blocking_serve();
                _exit(0);
            }
        }
        wait(NULL);
    }
}
