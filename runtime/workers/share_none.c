/* share_none.c: the loop of this process serves all clients.
 *
 * Called by loop/. No state. */
#include "../loop/slots.h"
#include "dispatchers.h"
#include "supervisor.h"

uint32_t nest__dispatchers_most(void) {
    return 1;
}

int nest__dispatchers_prepare(void) {
    return nest__supervisor_prepare(1);
}

void nest__share_begin(uint32_t worker) {
    (void)worker;
}

bool nest__share_listens(void) {
    return true;
}

bool nest__share_take(void) {
    return true;
}

bool nest__share_yields(void) {
    return false;
}

void nest__share_insist(void) {
}

void nest__share_give(void) {
}

void nest__share_overloaded(bool over) {
    (void)over;
}

uint32_t nest__share_clients(void) {
    return nest__slots_taken();
}

int nest__share_fd(void) {
    return -1;
}

void nest__share_woken(void) {
}

bool nest__share_reload(void) {
    nest__config_reload();
    return true;
}
