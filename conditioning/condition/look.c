/* What the system says about programs and sockets.
 * Must not know: held calls, gates. */
#define _GNU_SOURCE
#include "condition.h"

#include <arpa/inet.h>
#include <elf.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <dirent.h>
#include <unistd.h>

enum { DEPTH = 8 }; /* of processes below the server that are looked at */

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

/* The port of a UDP socket, from a table of the system. Returns whether it is one. */
static bool datagram(const char *table, ino_t inode, char *text, size_t room) {
    char line[512], address[33];
    unsigned port;
    unsigned long found;
    bool right = false;
    FILE *in = fopen(table, "re");
    while (in != NULL && !right && fgets(line, sizeof line, in) != NULL)
        right = sscanf(line, " %*d: %32[0-9A-F]:%x %*s %*s %*s %*s %*s %*s %*s %lu", address, &port,
                       &found) == 3 &&
                found == inode;
    if (in != NULL)
        fclose(in);
    if (right)
        snprintf(text, room, "port %u", port);
    return right;
}

static void datagrams_of(pid_t process, int depth, char *text, size_t room) {
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    DIR *fds = opendir(path);
    for (struct dirent *entry; fds != NULL && *text == '\0' && (entry = readdir(fds)) != NULL;) {
        ino_t inode = inode_of(process, atoi(entry->d_name));
        if (inode != 0 && !datagram("/proc/net/udp", inode, text, room))
            datagram("/proc/net/udp6", inode, text, room);
    }
    if (fds != NULL)
        closedir(fds);
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *in = depth > 0 ? fopen(path, "re") : NULL;
    while (in != NULL && *text == '\0' && fscanf(in, "%d", &child) == 1)
        datagrams_of(child, depth - 1, text, room);
    if (in != NULL)
        fclose(in);
}

void look_datagrams(pid_t process, char *text, size_t room) {
    *text = '\0';
    datagrams_of(process, DEPTH, text, room);
}
