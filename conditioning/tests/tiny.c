/* A server of one process that answers every connection with "hello", for tests of programs that
 * are linked statically.
 *
 *     tiny PORT [raw]     raw: it listens by the system's call, not by the C library's */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    static const char answer[] = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\n"
                                 "hello\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[4096];
    int on = 1, s = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_port = htons((in_port_t)(argc > 1 ? atoi(argv[1]) : 0));
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s, (struct sockaddr *)&address, sizeof address) == -1 ||
        (argc > 2 ? syscall(SYS_listen, s, 64) : listen(s, 64)) == -1)
        return 1;
    for (;;) {
        int client = accept(s, NULL, NULL);
        if (client == -1)
            return 2;
        if (recv(client, request, sizeof request, 0) > 0)
            send(client, answer, strlen(answer), MSG_NOSIGNAL);
        close(client);
    }
}
