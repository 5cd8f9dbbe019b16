/* The cheapest server on the library: one answer of 100 bytes for each request, then the end.
 *
 *     bench PORT [FILTER...]     without filters it accepts by accept(2) and reads by read(2) */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "cc.h"

int main(int argc, char **argv) {
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\n";
    char answer[sizeof head - 1 + 100], request[8192];
    struct in_addr any = {.s_addr = htonl(INADDR_ANY)};
    if (argc < 2)
        return 100;
    memset(answer, 'x', sizeof answer);
    memcpy(answer, head, sizeof head - 1);
    int s = cc_createlsock(any, htons((in_port_t)atoi(argv[1])), 1024, argv + 2);
    if (s == -1)
        return 111;
    for (;;) {
        int c = cc_accept(s, NULL, NULL);
        if (c == -1)
            return 0;
        if (cc_read(c, request, sizeof request) > 0)
            send(c, answer, sizeof answer, MSG_NOSIGNAL);
        cc_close(c, 1);
    }
}
