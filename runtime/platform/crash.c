/* crash.c: reports which signal crashed the process, and for which connection; the end of a thread
 * that must not end is a crash as well, and an action's call of exit is reported like one.
 *
 * Installed by the worker models. State: two constant texts per process and its number, an
 * alternate stack per thread. The handler uses only async-signal-safe functions: no stdio, no
 * malloc, no lock. It repairs nothing; the default action of the signal follows. Must not know
 * models. */
#include "platform.h"
#include "../service/proxied/proxied.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
static const char *crash_who, *crash_consequence;
static pid_t crash_pid;
static _Thread_local _Alignas(16) char crash_stack[16 * 1024];
static _Thread_local stack_t crash_before; /* the stack of a sanitizer, which must be restored */

static const char *crash_name(int signal) {
    switch (signal) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGILL:
        return "SIGILL";
    case SIGFPE:
        return "SIGFPE";
    case SIGABRT:
        return "SIGABRT";
    default:
        return "SIGTRAP";
    }
}

static void crash_place(struct nest__line *line) {
    int rule = nest__current_rule();
    int timer = NEST__ACT_TIMER - rule;
    if (rule == NEST__ACT_START) {
        nest__line_add(line, " in START");
    } else if (rule == NEST__ACT_END) {
        nest__line_add(line, " in END");
    } else if (rule == NEST__ACT_OVERLOAD) {
        nest__line_add(line, " in OVERLOAD");
    } else if (rule >= 0 && rule < NEST__RULES) {
        nest__line_add(line, " in rule ");
        nest__line_add(line, nest__rules[rule].name);
        nest__line_add(line, " (");
        nest__line_add(line, nest__rules[rule].file);
        nest__line_char(line, ':');
        nest__line_number(line, nest__rules[rule].line);
        nest__line_char(line, ')');
    } else if (NEST__TIMERS > 0 && rule <= NEST__ACT_TIMER && timer < NEST__TIMERS) {
        nest__line_add(line, " in TIMEOUT rule ");
        nest__line_add(line, nest__timers[timer].name);
        nest__line_add(line, " (");
        nest__line_add(line, nest__timers[timer].file);
        nest__line_char(line, ')');
    } else {
        nest__line_add(line, " outside of actions");
    }
}

void nest__crash_tell(const char *what, const char *detail) {
    char text[512], peer[NEST__ADDRESS_TEXT];
    struct nest__line line = {text, 0, sizeof text - 1};
    const nest_session *s = nest__current_session();
    nest__line_add(&line, nest__spec_name);
    nest__line_add(&line, ": ");
    nest__line_add(&line, crash_who);
    nest__line_char(&line, ' ');
    nest__line_number(&line, (uint64_t)getpid());
    nest__line_char(&line, ' ');
    nest__line_add(&line, what);
    nest__line_add(&line, detail);
    crash_place(&line);
    if (s != NULL) {
        nest__client_text(s, peer, sizeof peer);
        nest__line_add(&line, ", client ");
        nest__line_add(&line, peer);
    }
    nest__line_add(&line, "; ");
    nest__line_add(&line, crash_consequence);
    text[line.n] = '\n';
    nest__tell(STDERR_FILENO, text, line.n + 1);
}

void nest__crash_end(const char *what, const char *detail) {
    struct sigaction normal = {.sa_handler = SIG_DFL};
    nest__crash_tell(what, detail);
    sigaction(SIGABRT, &normal, NULL);
    abort();
}

static void crash_report(int signal) {
    nest__crash_tell("crashed: ", crash_name(signal));
    raise(signal); /* the signal is blocked here and its action is the default again: it ends the
                      process on return */
}

/* Runs in the thread that called exit, whose action never returned. A process that an action has
 * forked is free to exit. */
static void crash_exited(void) {
    if (getpid() == crash_pid && nest__current_rule() != NEST__ACT_NONE) {
        nest__crash_tell("ended, because an action called exit:", "");
    }
}

void nest__crash_install(const char *who, const char *consequence) {
    struct sigaction report = {.sa_handler = crash_report,
                               .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND)};
    crash_who = who;
    crash_consequence = consequence;
    crash_pid = getpid();
    (void)atexit(crash_exited); /* if it cannot be, such an end is not reported here */
    sigemptyset(&report.sa_mask);
    for (size_t i = 0; i < sizeof crash_signals / sizeof crash_signals[0]; i++) {
        sigaction(crash_signals[i], &report, NULL);
    }
    nest__crash_enter();
}

void nest__crash_enter(void) {
    stack_t stack = {.ss_sp = crash_stack, .ss_size = sizeof crash_stack};
    if (sigaltstack(&stack, &crash_before) == -1) {
        memset(&crash_before, 0, sizeof crash_before); /* then a stack overflow is not reported */
    }
}

void nest__crash_leave(void) {
    if (crash_before.ss_sp == NULL) {
        crash_before.ss_flags = SS_DISABLE;
    }
    sigaltstack(&crash_before, NULL);
}

/* -- threads that must not end */

/* scope: process, made once */
static pthread_key_t crash_key;
static bool crash_has_key;

/* Called by the C library in the thread that ends. The frames of the action are left: nothing of
 * the session may stand there, unless the action had a stack of its own. */
static void crash_thread_ended(void *kept) {
    (void)kept;
    if (getpid() == crash_pid) {
        nest__crash_end("ended, because an action called pthread_exit:", "");
    }
}

static void crash_make_key(void) {
    crash_has_key = pthread_key_create(&crash_key, crash_thread_ended) == 0;
}

void nest__crash_keep_thread(bool on) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, crash_make_key);
    if (crash_has_key) { /* without one such an end is not reported */
        (void)pthread_setspecific(crash_key, on ? &crash_key : NULL);
    }
}

void nest__unforeseen(void) {
    nest__say(
        "internal error of nest, please report it: rules are active together that it considered "
        "impossible; until it is fixed, build with %%option matching apart");
    abort();
}

void nest__closed_under(void) {
    nest__say("a descriptor of the server was closed, probably by an action; its process ends");
    abort();
}
