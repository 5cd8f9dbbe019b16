/* thread.c: the floor of the thread model: threads made ahead, each in accept, then in recv. */
#include "blocking.h"

#include <pthread.h>

static void *thread_work(void *unused) {
    for (;;) {
        blocking_serve();
    }
    return unused;
}

int main(int argc, char **argv) {
    floor_start(argc, argv, true);
    for (unsigned i = 0; i < floor_.workers; i++) {
        pthread_t thread;
        int error = pthread_create(&thread, NULL, thread_work, NULL);
        if (error != 0) {
            errno = error;
            floor_fail("thread");
        }
    }
    pause();
}
