/* mail.h: mail between two processes, one of which is killed at random moments, or writes garbage
 * where it shares memory with the other.
 *
 * Included behind the mailbox that is tried, by a program that supplies `garbage`. Every wait is
 * bounded. */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

enum { WAIT_MS = 20 * 1000, RECEIVER = 0, SENDER = 1, WORKERS = 3, SERVICE = WORKERS, LIFE = 7 };

uint16_t nest__serial;
static uint64_t state; /* of the generator */
static const char *seed = "none";
static uint32_t alive = LIFE;

static uint32_t draw(uint32_t below) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % below;
}

static void check(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "mailbox: seed %s: %s\n", seed, what);
        abort();
    }
}

bool nest__mail_alive(nest__ref ref) {
    return ref.slot == 0 && ref.gen == alive;
}

/* -- what is sent: a number, and bytes that follow from it and the length */
static uint32_t compose(uint8_t *bytes, uint32_t number) {
    uint32_t n = 4 + number * 2654435761u % (number % 8 == 0 ? NEST__MAIL_MOST - 3 : 200);
    memcpy(bytes, &number, 4);
    for (uint32_t i = 4; i < n; i++) {
        bytes[i] = (uint8_t)(number * 31 + i * 7);
    }
    return n;
}

static uint32_t decompose(const struct nest__mail *mail) {
    uint8_t expected[NEST__MAIL_MOST];
    uint32_t number;
    check(mail->n >= 4, "a message is too short");
    memcpy(&number, mail->bytes, 4);
    check(compose(expected, number) == mail->n && memcmp(expected, mail->bytes, mail->n) == 0,
          "a message is torn");
    return number;
}

static int send_number(uint32_t number, uint32_t gen) {
    uint8_t bytes[NEST__MAIL_MOST];
    uint32_t n = compose(bytes, number);
    return nest__mail_send(0, (nest__ref){0, gen}, 1, bytes, n);
}

/* -- senders, each in its process */
static void sends_for_ever(uint32_t from) {
    for (uint32_t number = from;;) {
        int error = send_number(number, number % 5 == 0 ? LIFE - 1 : LIFE); /* some are stale */
        number += error == 0;
        check(error == 0 || error == -EAGAIN, "a send fails");
    }
}

static pid_t begin(uint32_t sender, void (*work)(uint32_t), uint32_t argument) {
    pid_t pid = fork();
    check(pid != -1, "no process");
    if (pid == 0) {
        nest__mailbox_begin(sender);
        nest__serial = sender == SERVICE ? 0 : SENDER; /* as there */
        work(argument);
        _exit(0);
    }
    return pid;
}

static void end(pid_t pid, int signal) {
    int status;
    if (signal != 0) {
        kill(pid, signal);
    }
    check(waitpid(pid, &status, 0) == pid, "a sender is lost");
    check(signal != 0 || status == 0, "a sender failed");
}

/* -- the receiver */
static uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Waits as a worker does. */
static bool next(struct nest__mail *mail, int timeout) {
    uint64_t until = now_us() + (uint64_t)timeout * 1000;
    while (!nest__mailbox_take(mail)) {
        struct pollfd ready = {.fd = nest__mailbox_fd(), .events = POLLIN};
        uint64_t now = now_us();
        if (now >= until) {
            return false;
        }
        if (nest__mailbox_sleep()) {
            (void)poll(&ready, 1, (int)((until - now + 999) / 1000));
        }
    }
    return true;
}

/* A sender, a worker or the service process, is killed somewhere, its successor goes on: what comes
 * is whole, in order, and never what was sent before. */
static uint32_t killed(uint32_t kills) {
    struct nest__mail mail;
    uint32_t received = 0, from = 1;
    for (uint32_t turn = 0; turn < kills; turn++) {
        pid_t pid = begin(draw(2) == 0 ? SENDER : SERVICE, sends_for_ever, from);
        uint64_t until = now_us() + draw(1500);
        check(next(&mail, WAIT_MS), "a new sender is not heard");
        do {
            uint32_t number = decompose(&mail);
            check(number >= from && number % 5 != 0, "an old or stale message comes");
            from = number + 1;
            received++;
        } while (now_us() < until && next(&mail, 1));
        end(pid, SIGKILL);
        while (nest__mailbox_take(&mail)) {
            from = decompose(&mail) + 1;
        }
        from += 1000; /* the successor's are others */
    }
    return received;
}

static void sends_some(uint32_t count) {
    for (uint32_t number = 1; number <= count;) {
        number += send_number(number, LIFE) == 0;
    }
}

/* Full is said, nothing is lost, and a sender that sleeps in between is heard. */
static void filled(void) {
    struct nest__mail mail;
    uint32_t sent = 0, got = 0;
    nest__mailbox_begin(RECEIVER);
    while (send_number(sent + 1, LIFE) == 0) {
        sent++;
    }
    check(sent > 4, "a mailbox holds too little");
    check(send_number(sent + 1, LIFE) == -EAGAIN, "full is not said");
    uint8_t big[NEST__MAIL_MOST + 1] = {0};
    check(nest__mail_send(0, (nest__ref){0, LIFE}, 1, big, sizeof big) == -EMSGSIZE, "too much");
    while (next(&mail, 100)) {
        check(decompose(&mail) == ++got, "out of order");
    }
    check(got == sent, "some are lost");
    pid_t pid = begin(SENDER, sends_some, 20000);
    for (got = 0; got < 20000;) {
        check(next(&mail, WAIT_MS), "mail is there, and nobody is woken");
        check(decompose(&mail) == ++got, "out of order");
    }
    end(pid, 0);
}

/* A sender that writes anything where it shares memory with the receiver. */
static void garbage(uint32_t seed);

/* Whatever is in a ring: the receiver takes no harm, and a new sender is heard afterwards. */
static void spoiled(uint32_t turns) {
    struct nest__mail mail;
    for (uint32_t turn = 0; turn < turns; turn++) {
        pid_t pid = begin(SENDER, garbage, draw(1000000));
        for (int i = 0; i < 200; i++) {
            if (nest__mailbox_take(&mail)) {
                check(mail.n <= NEST__MAIL_MOST, "a message is too long");
            }
        }
        end(pid, 0);
        while (next(&mail, 0)) {
        }
        pid = begin(SENDER, sends_some, 50);
        uint32_t last = 0;
        while (last != 50) { /* of the first of them, a spoiled ring may take some along */
            check(next(&mail, WAIT_MS), "nobody is heard after garbage");
            uint32_t number = decompose(&mail);
            check(number > last, "out of order");
            last = number;
        }
        end(pid, 0);
    }
}

static int run(int argc, char **argv) {
    check(argc == 3, "usage: mailbox SEED KILLS");
    seed = argv[1];
    state = strtoull(argv[1], NULL, 10);
    check(nest__mailbox_prepare(WORKERS) == 0, "cannot prepare");
    filled();
    nest__mailbox_begin(RECEIVER);
    uint32_t received = killed((uint32_t)strtoul(argv[2], NULL, 10));
    spoiled(100);
    printf("mailbox: seed %s, %s killed senders, %u messages: all is well\n", seed, argv[2],
           (unsigned)received);
    return 0;
}
