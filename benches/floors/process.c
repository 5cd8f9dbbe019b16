/* process.c: the floor of the process model: processes forked ahead, each in accept, then in recv.
 */
#include "blocking.h"

#include <sys/prctl.h>

int main(int argc, char **argv) {
    floor_start(argc, argv, true);
    for (unsigned i = 0; i < floor_.workers; i++) {
        pid_t pid = fork();
        if (pid == -1) {
            floor_fail("process");
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) {
                blocking_serve();
            }
        }
    }
    pause();
}
