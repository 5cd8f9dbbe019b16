/* user.c: options user and chroot: the processes that serve clients are not root.
 *
 * Called at join points, and by listener.c. State: who the user is, and where the root directory
 * is; resolved at the start, because a child of a process with threads must neither allocate nor
 * load libraries. Must not know which model runs it. */
#include "user.h"
#include "../../config/config.h"
#include "../../platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { USER_NAME = 256, USER_GROUPS = 65536 /* NGROUPS_MAX of Linux */ };

/* scope: process, set before workers are made */
static struct {
    const char *option; /* as the configuration has it; NULL: no change of user */
    uid_t uid;
    gid_t gid, *groups;
    int group_count;
    char *root; /* absolute; NULL: no change of the root directory */
} user;

static bool user_set(const char *option) {
    return option != NULL && option[0] != '\0';
}

static int user_refuse(const char *why) {
    nest__say("cannot start: user %s: %s", user.option, why);
    return -EINVAL;
}

/* Parses a decimal id. -1 itself means "no change" in system calls, and is none. */
static bool user_number(const char *text, uint32_t *to) {
    uint64_t number = 0;
    for (const char *p = text; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || number > UINT32_MAX) {
            return false;
        }
        number = number * 10 + (uint64_t)(*p - '0');
    }
    *to = (uint32_t)number;
    return text[0] != '\0' && number < UINT32_MAX;
}

/* The groups of which the user is a member, and its own. */
static int user_members(const char *name) {
    int room = 0, size;
    gid_t *grown;
    do {
        room = room == 0 ? 32 : room * 2;
        size = room;
        grown = realloc(user.groups, (size_t)room * sizeof *user.groups);
        if (grown == NULL) {
            return -ENOMEM;
        }
        user.groups = grown;
    } while (getgrouplist(name, user.gid, user.groups, &size) == -1 && room < USER_GROUPS);
    user.group_count = size < room ? size : room;
    return 0;
}

/* Finds NAME[:GROUP]; both may be numbers. */
static int user_find(void) {
    char name[USER_NAME];
    const char *colon = strchr(user.option, ':');
    size_t n = colon != NULL ? (size_t)(colon - user.option) : strlen(user.option);
    if (n == 0 || n >= sizeof name || (colon != NULL && colon[1] == '\0')) {
        return user_refuse("write NAME or NAME:GROUP");
    }
    memcpy(name, user.option, n);
    name[n] = '\0';
    const struct passwd *found = getpwnam(name);
    if (found == NULL && strcmp(user.option, "root") == 0) {
        return 0; /* an image may have no list of users; ids are 0 already */
    }
    if (found == NULL && user_number(name, &user.uid)) {
        found = getpwuid(user.uid);
        if (found == NULL && colon == NULL) {
            return user_refuse(
                "this user is not known here, so its group must follow: NUMBER:GROUP");
        }
    } else if (found == NULL) {
        return user_refuse("there is no such user");
    }
    if (found != NULL) {
        user.uid = found->pw_uid;
        user.gid = found->pw_gid;
        nest_strlcpy(name, found->pw_name, sizeof name);
    }
    if (colon != NULL) {
        const struct group *group = getgrnam(colon + 1);
        if (group != NULL) {
            user.gid = group->gr_gid;
        } else if (!user_number(colon + 1, &user.gid)) {
            return user_refuse("there is no such group");
        }
    }
    return user_members(name) == 0 ? 0 : user_refuse("out of memory");
}

/* The server was started as this user, so nothing is to be done. */
static bool user_is(void) {
    return getuid() == user.uid && geteuid() == user.uid && getgid() == user.gid &&
           getegid() == user.gid;
}

static int user_failed(const char *what) {
    int error = errno;
    nest__say("cannot leave root: %s: %s", what, strerror(error));
    return error != 0 ? -error : -EPERM;
}

/* The order matters: each step needs rights that a later one gives up. */
static int user_leave(void) {
    if (user.root != NULL && (chroot(user.root) == -1 || chdir("/") == -1)) {
        return user_failed("chroot");
    }
    if (user.option == NULL || user_is()) {
        return 0;
    }
    if (setgroups((size_t)user.group_count, user.groups) == -1) {
        return user_failed("setgroups");
    }
    if (setresgid(user.gid, user.gid, user.gid) == -1) {
        return user_failed("setresgid");
    }
    if (setresuid(user.uid, user.uid, user.uid) == -1) {
        return user_failed("setresuid");
    }
    if (user.uid == 0) {
        return 0; /* "user root" says that root is meant */
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) {
        return user_failed("no_new_privs");
    }
    return 0;
}

/* Whether the process could be root again. */
static int user_left(void) {
    uid_t real, effective, saved;
    gid_t real_group, effective_group, saved_group;
    if (user.option == NULL || user.uid == 0) {
        return 0;
    }
    errno = 0;
    if (getresuid(&real, &effective, &saved) == -1 || real != user.uid || effective != user.uid ||
        saved != user.uid || setresuid((uid_t)-1, 0, (uid_t)-1) != -1) {
        return user_failed("its user can be regained");
    }
    errno = 0;
    if (getresgid(&real_group, &effective_group, &saved_group) == -1 || real_group != user.gid ||
        effective_group != user.gid || saved_group != user.gid ||
        (user.gid != 0 && setresgid((gid_t)-1, 0, (gid_t)-1) != -1)) {
        return user_failed("its group can be regained");
    }
    return 0;
}

static int user_leave_for_good(void) {
    int error = user_leave();
    return error != 0 ? error : user_left();
}

static int user_root(void) {
    const char *name = nest__config.chroot;
    struct stat file;
    user.root = realpath(name, NULL);
    if (user.root == NULL || stat(user.root, &file) == -1) {
        nest__say("cannot start: chroot %s: %s", name, strerror(errno));
        return -EINVAL;
    }
    if (!S_ISDIR(file.st_mode)) {
        nest__say("cannot start: chroot %s: %s", name, strerror(ENOTDIR));
        return -ENOTDIR;
    }
    return 0;
}

int nest__user_check(void) {
    int error = 0;
    bool changes = user_set(nest__config.user), moves = user_set(nest__config.chroot);
    if (changes) {
        user.option = nest__config.user;
        error = user_find();
    }
    if (error == 0 && moves) {
        error = user_root();
    }
    if (error != 0) {
        return error;
    }
    if (changes && geteuid() != 0 && !user_is()) {
        return user_refuse("only root can become another user");
    }
    if (moves && geteuid() != 0) {
        nest__say("cannot start: chroot %s: only root can change the root directory", user.root);
        return -EPERM;
    }
    if (!changes && !moves) {
        return 0;
    }
    /* There, capabilities, filters of system calls and user namespaces have their say as they will
     * have in workers. */
    bool began;
    error = nest__try_in_child(user_leave_for_good, &began);
    if (!began) {
        nest__say("cannot start: %s", strerror(-error));
    }
    return error; /* else the child has given the reason */
}

int nest__user_prepare(void) {
    if (geteuid() == 0 && user.option == NULL) {
        nest__say(
            user.root != NULL
                ? "warning: it serves clients as root, which can leave a chroot; set option user"
                : "warning: it serves clients as root; set option user, or user root if that "
                  "is meant");
    }
    return user.option != NULL || user.root != NULL ? nest__config_share() : 0;
}

int nest__user_serve(void) {
    if (user.option == NULL && user.root == NULL) {
        return 0;
    }
    nest__config_leave();
    return user_leave_for_good();
}

/* The file is opened first, so that only a socket is given away, whatever has its name by then. */
int nest__user_own(const char *socket) {
    struct stat file;
    int error = 0;
    if (user.option == NULL || user_is()) {
        return 0;
    }
    int fd = open(socket, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd == -1) {
        return -errno;
    }
    if (fstat(fd, &file) == -1 || !S_ISSOCK(file.st_mode) ||
        fchownat(fd, "", user.uid, user.gid, AT_EMPTY_PATH) == -1) {
        error = errno != 0 ? -errno : -EINVAL;
    }
    close(fd);
    return error;
}
