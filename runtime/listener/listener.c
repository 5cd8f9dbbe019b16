/* listener.c: the listening sockets of this server, opened here or inherited.
 *
 * Opened and closed by main. State: the listeners of the process. A process that inherits them by
 * fork uses them, but only the process that created a Unix socket removes its file. Must not know
 * sessions or models. */
#include "../platform/platform.h"
#include "../service/inetd/inetd.h"
#include "../service/systemd/systemd.h"
#include "endpoint.h"
#include "listener.h"

#include <string.h>
#include <unistd.h>

struct nest__listener nest__listeners[NEST__LISTEN_MAX];
unsigned nest__listener_count;

static struct nest__socket_file listener_files[NEST__LISTEN_MAX]; /* parallel to nest__listeners */

static int listener_open_one(const struct nest__endpoint *address) {
    struct nest__listener *l = &nest__listeners[nest__listener_count];
    int error = nest__socket_listen(address, l, &listener_files[nest__listener_count]);
    nest__listener_count += error == 0;
    return error;
}

static int listener_open_all(void) {
    struct nest__endpoint addresses[NEST__LISTEN_MAX];
    char reason[NEST__ENDPOINT_REASON];
    int count = nest__endpoints(nest__config.listen, nest__config.server_port, addresses, reason);
    if (count < 0) {
        nest__say("cannot listen: %s", reason);
        return count;
    }
    bool said = false;
    for (int i = 0; i < count; i++) {
        said = said || addresses[i].encrypted;
    }
    for (int i = 0; i < count; i++) {
        unsigned first = nest__listener_count;
        int error =
            addresses[i].systemd ? nest__systemd_listen() : listener_open_one(&addresses[i]);
        if (error != 0) {
            return error;
        }
        for (unsigned opened = first; opened < nest__listener_count; opened++) {
            nest__listeners[opened].proxied = addresses[i].proxied;
            nest__listeners[opened].tls = !said                    ? NEST__LISTEN_UNSAID
                                          : addresses[i].encrypted ? NEST__LISTEN_TLS
                                                                   : NEST__LISTEN_CLEAR;
        }
    }
    return 0;
}

int nest__listen_open(void) {
    bool given = false;
    int error = nest__inetd_listen();
    if (error == 1) {
        error = listener_open_all();
    }
    for (unsigned i = 0; i < nest__listener_count; i++) {
        given = given || nest__listeners[i].given;
    }
    error = error == 0 ? nest__take_prepare(given) : error;
    if (error != 0) {
        nest__listen_close();
    }
    return error;
}

bool nest__listen_encrypts(void) {
    bool any = false;
    for (unsigned i = 0; i < nest__listener_count; i++) {
        any = any || nest__listeners[i].tls == NEST__LISTEN_TLS;
    }
    return any;
}

void nest__listener_unlink(unsigned index) {
    nest__socket_unlink(&listener_files[index]);
}

void nest__listen_close(void) {
    for (unsigned i = 0; i < nest__listener_count; i++) {
        close(nest__listeners[i].fd);
        nest__listener_unlink(i);
    }
    nest__listener_count = 0;
    nest__take_close();
    nest__inetd_close();
}
