/* What the system says about programs and sockets.
 * Must not know: held calls, filters. */
#define _GNU_SOURCE
#include "condition.h"

#include <arpa/inet.h>
#include <elf.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <dirent.h>
#include <unistd.h>

enum {
    DEPTH = 8,        /* of processes below the server that are looked at */
    MOST_WANTED = 512 /* sockets */
};

bool look_program(pid_t process, char *path, size_t room) {
    char link[64];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)process);
    ssize_t n = readlink(link, path, room - 1);
    path[n > 0 ? n : 0] = '\0';
    return n > 0;
}

bool look_static(const char *program) {
    Elf64_Ehdr head;
    bool elf, found = false;
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    if (fd == -1)
        return false;
    elf = pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
          memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
          head.e_phentsize == sizeof(Elf64_Phdr);
    for (unsigned i = 0; elf && i < head.e_phnum && !found; i++) {
        Elf64_Phdr part;
        off_t at = (off_t)(head.e_phoff + i * sizeof part);
        found =
            pread(fd, &part, sizeof part, at) == (ssize_t)sizeof part && part.p_type == PT_INTERP;
    }
    close(fd);
    return elf && !found;
}

void look_address(const struct sockaddr_storage *address, char *text, size_t room) {
    char name[INET6_ADDRSTRLEN] = "?";
    const struct sockaddr_in *in = (const void *)address;
    const struct sockaddr_in6 *in6 = (const void *)address;
    bool six = address->ss_family == AF_INET6;
    inet_ntop(address->ss_family, six ? (const void *)&in6->sin6_addr : &in->sin_addr, name,
              sizeof name);
    snprintf(text, room, six ? "[%s]:%u" : "%s:%u", name,
             ntohs(six ? in6->sin6_port : in->sin_port));
}

/* A socket that is looked for. */
struct wanted {
    ino_t inode;
    unsigned port;
};

/* Adds the sockets of a table of the system that have a state, and no gate. */
static size_t from_table(const char *table, unsigned state, struct wanted *wanted, size_t count) {
    char line[512];
    unsigned port, has;
    unsigned long inode;
    FILE *in = fopen(table, "re");
    while (in != NULL && count < MOST_WANTED && fgets(line, sizeof line, in) != NULL) {
        if (sscanf(line, " %*d: %*32[0-9A-F]:%x %*s %x %*s %*s %*s %*s %*s %lu", &port, &has,
                   &inode) != 3)
            continue; /* the heading */
        if (has == state && inode != 0 && !gate_has(inode))
            wanted[count++] = (struct wanted){inode, port};
        /* Sockets that listen come first; there may be very many others. */
        if (state == TCP_LISTEN && has != state)
            break;
    }
    if (in != NULL)
        fclose(in);
    return count;
}

static const struct wanted *held_by(pid_t process, int depth, const struct wanted *wanted,
                                    size_t count) {
    char path[64];
    int child;
    const struct wanted *found = NULL;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    DIR *fds = opendir(path);
    for (struct dirent *entry; fds != NULL && found == NULL && (entry = readdir(fds)) != NULL;) {
        ino_t inode = inode_of(process, atoi(entry->d_name));
        for (size_t i = 0; i < count && found == NULL; i++)
            found = wanted[i].inode == inode ? &wanted[i] : NULL;
    }
    if (fds != NULL)
        closedir(fds);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *in = depth > 0 ? fopen(path, "re") : NULL;
    while (in != NULL && found == NULL && fscanf(in, "%d", &child) == 1)
        found = held_by(child, depth - 1, wanted, count);
    if (in != NULL)
        fclose(in);
    return found;
}

unsigned look_sockets(pid_t process, bool datagrams) {
    struct wanted wanted[MOST_WANTED];
    unsigned state = datagrams ? TCP_CLOSE : TCP_LISTEN;
    size_t count = from_table(datagrams ? "/proc/net/udp" : "/proc/net/tcp", state, wanted, 0);
    count = from_table(datagrams ? "/proc/net/udp6" : "/proc/net/tcp6", state, wanted, count);
    const struct wanted *found = count > 0 ? held_by(process, DEPTH, wanted, count) : NULL;
    return found != NULL ? found->port : 0;
}
