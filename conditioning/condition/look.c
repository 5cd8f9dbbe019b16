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
#include <unistd.h>

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
