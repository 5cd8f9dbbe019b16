/* broadcast.c: what a message to many clients costs at least: a send for each.
 *
 * usage: broadcast MEMBERS. Accepts so many members and then one sender; sends each byte string
 * that the sender sends to all members, and answers it by "=0\n". Must not know nest. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int members = argc > 1 ? atoi(argv[1]) : 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    char text[4096];
    ssize_t n;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int *all = calloc((size_t)members + 1, sizeof *all);
    if (all == NULL || members <= 0 || bind(listener, (void *)&address, size) == -1 ||
        listen(listener, 4096) == -1 || getsockname(listener, (void *)&address, &size) == -1) {
        perror("broadcast");
        return 1;
    }
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    for (int i = 0; i < members; i++) {
        all[i] = accept(listener, NULL, NULL);
    }
    int sender = accept(listener, NULL, NULL);
    while ((n = recv(sender, text, sizeof text, 0)) > 0) {
        for (int i = 0; i < members; i++) {
            (void)!send(all[i], text, (size_t)n, MSG_NOSIGNAL);
        }
        (void)!send(sender, "=0\n", 3, MSG_NOSIGNAL);
    }
    return 0;
}
