/* channels.c: the sample's actions, where ECHO opens a further channel to the port in $PEER. The
 * first letter of its text, which the peer is told, says what for; see ../channels.py. */
#define NEST__RULES 19
#define NEST__CONDITIONS 2
#define NEST__STANDALONE 19
#include "../features.h"
#define NEST__LOSSY 1
#define NEST__PARTS 6
#define NEST__THREAD_WORDS 96
#define NEST__NFA_STATES 48
#define NEST__TIMERS 4
#define NEST__MESSAGES 0
#include "../../engine/channels.h"

#define nest__spec_act sample_act
#include "actions.c"
#undef nest__spec_act

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* Its number; -1. */
static int dial(nest_session *s) {
    struct sockaddr_in to = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const char *port = getenv("PEER");
    to.sin_port = htons((uint16_t)strtoul(port == NULL ? "0" : port, NULL, 10));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) == -1 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) == -1) {
        close(fd);
        return -1;
    }
    return nest__channel_attach(s, fd, NEST__TCP4);
}

static bool fill(nest_session *s, unsigned number, size_t n) {
    char *bytes = malloc(n);
    if (bytes == NULL) {
        return false;
    }
    memset(bytes, 'x', n);
    int result = nest__channel_write(s, number, bytes, n);
    free(bytes);
    return result == 0;
}

/* What a read says. */
static void tell(nest_session *s, unsigned number, uint32_t ms) {
    char bytes[200];
    int64_t n = nest__channel_read(s, number, bytes, sizeof bytes, ms);
    if (n > 0) {
        nest_reply_bytes(s, bytes, (size_t)n);
    } else {
        nest_replyf(s, "%s\r\n",
                    n == 0                ? "end"
                    : errno == ETIMEDOUT  ? "timeout"
                    : errno == ECONNRESET ? "reset"
                                          : "failed");
    }
}

static void echo(nest_session *s) {
    const char *text = nest_part(s, 2);
    int found = dial(s);
    unsigned number = (unsigned)found;
    if (found <= 0 || nest__channel_write(s, number, text, strlen(text)) < 0 ||
        nest__channel_write(s, number, "\n", 1) < 0) {
        nest_replyf(s, "no channel: %s\r\n", strerror(errno));
        return;
    }
    switch (text[0]) {
    case 'b': /* much, closed at once */
        nest_reply(s, fill(s, number, 3000000) ? "written\r\n" : "failed\r\n");
        nest__channel_close(s, number, false);
        break;
    case 'k': /* stays open; what is queued leaves later */
        nest_reply(s, fill(s, number, 60000) ? "kept\r\n" : "failed\r\n");
        break;
    case 'p': /* the peer answers during a pause */
        nest_replyf(s, "%d\r\n", nest__channel_pause(s, number, 200));
        tell(s, number, 5000);
        nest__channel_close(s, number, true);
        break;
    default:
        tell(s, number, text[0] == 's' ? 200 : 0);
        nest__channel_close(s, number, false);
        break;
    }
}

void nest__spec_act(nest_session *s, void *memory, int rule, const struct nest_message *message) {
    if (rule == 4) {
        echo(s);
    } else {
        sample_act(s, memory, rule, message);
    }
}
