/* What cannot work is refused before the server starts, each with one message.
 * Must not know: held calls, gates. */
#define _GNU_SOURCE
#include "condition.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
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

/* It may still be in use: by what the chain has forked and is not a filter yet. */
void remove_state(void) {
    struct stat status;
    if (state != NULL && lstat(state, &status) == 0 && S_ISSOCK(status.st_mode))
        unlink(state);
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

/* The file that execvp would run. */
static bool found(const char *program, char *path, size_t room) {
    const char *list = getenv("PATH");
    if (strchr(program, '/') != NULL)
        return snprintf(path, room, "%s", program) < (int)room && access(path, X_OK) == 0;
    for (const char *part = list != NULL ? list : "/bin:/usr/bin"; *part != '\0';) {
        size_t n = strcspn(part, ":");
        int size = snprintf(path, room, "%.*s/%s", (int)n, n > 0 ? part : ".", program);
        if (size < (int)room && access(path, X_OK) == 0)
            return true;
        part += n + (part[n] == ':');
    }
    return false;
}

/* Replaces a script's path by that of its interpreter. */
static bool interpreter(char *path, size_t room) {
    char line[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd != -1 ? read(fd, line, sizeof line - 1) : -1;
    if (fd != -1)
        close(fd);
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[n] = '\0';
    char *name = line + 2 + strspn(line + 2, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    snprintf(path, room, "%s", name);
    return true;
}

bool refuse_library(const char *program) {
    char path[4096], library[4096];
    struct stat status;
    libexec("cc-preload.so", library, sizeof library);
    if (access(library, R_OK) == -1) {
        say("%s: %s; install it, or set CC_LIBEXEC", library, strerror(errno));
        return true;
    }
    if (!found(program, path, sizeof path))
        return false; /* what starts it says so */
    for (int i = 0; i < 4 && interpreter(path, sizeof path); i++)
        continue;
    if (look_static(path)) {
        say("%s is linked statically and would not load a library: use --by seccomp", path);
        return true;
    }
    if (stat(path, &status) == 0 && ((status.st_mode & (S_ISUID | S_ISGID)) != 0 ||
                                     getxattr(path, "security.capability", NULL, 0) > 0)) {
        say("%s gains privileges and would not load a library: use --by seccomp", path);
        return true;
    }
    return false;
}
