/* What cannot work is refused before the server starts, each with one message.
 * Must not know: held calls, gates. */
#define _GNU_SOURCE
#include "condition.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

bool refuse_state(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct stat status;
    if (state == NULL)
        return false;
    if (strlen(state) >= sizeof at.sun_path) {
        say("--state %s: the path is longer than %zu bytes", state, sizeof at.sun_path - 1);
        return true;
    }
    if (lstat(state, &status) == -1)
        return false; /* if it cannot be made, cc-chain says so */
    if (!S_ISSOCK(status.st_mode)) {
        say("--state %s: there is a file that is no socket; remove it or choose another name",
            state);
        return true;
    }
    strcpy(at.sun_path, state);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool used =
        fd == -1 || connect(fd, (struct sockaddr *)&at, sizeof at) == 0 || errno != ECONNREFUSED;
    if (fd != -1)
        close(fd);
    if (used)
        say("--state %s: it is in use; choose another name", state);
    else
        unlink(state); /* of a chain that was killed */
    return used;
}

bool refuse_inherited(void) {
    DIR *fds = opendir("/proc/self/fd");
    bool found = false;
    for (struct dirent *entry; fds != NULL && !found && (entry = readdir(fds)) != NULL;) {
        struct sockaddr_storage name = {0};
        char address[80];
        int fd = atoi(entry->d_name), listens = 0;
        socklen_t size = sizeof listens, length = sizeof name;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == -1 || !listens ||
            getsockname(fd, (struct sockaddr *)&name, &length) == -1 ||
            (name.ss_family != AF_INET && name.ss_family != AF_INET6))
            continue;
        look_address(&name, address, sizeof address);
        say("descriptor %d listens on %s already, and its clients would pass no filters: let the "
            "server make this socket",
            fd, address);
        found = true;
    }
    if (fds != NULL)
        closedir(fds);
    return found;
}
