/* priority.h: options priorities, quota and listenPriority, and $priority: the class of each
 * client.
 *
 * Classes are counted from 0 here, and from 1 in specifications; class 0 goes first. loop/classes.h
 * decides whose turn is next. */
#ifndef NEST_SERVICE_PRIORITY_H
#define NEST_SERVICE_PRIORITY_H

#include "../../seam.h"

/* -- join points */
int nest__priority_start(void);
struct nest__need nest__priority_need(void);
void nest__priority_take(nest_session *, const struct nest__rule *, const uint8_t *, uint32_t n);
bool nest__priority_yield(const nest_session *);
/* -- options: whether a text is a value; else -EINVAL, and the reason, of at most 256 bytes */
int nest__priority_quota_valid(const char *text, char *reason);
int nest__priority_listen_valid(const char *text, char *reason);
/* -- the loop */
struct nest__priority_entry { /* of a slot */
    uint8_t rank;
    uint8_t queued; /* the class in which its session has a turn */
    bool held;      /* before the turn: it has input that was not looked at */
};
struct nest__priority_entry *nest__priority_entry(const nest_session *);
bool nest__priority_holds(const nest_session *); /* the entry is the slot's own */
uint32_t nest__priority_of_listener(unsigned index);
/* The listener of the client: before its session is opened, which others may be meanwhile. */
void nest__priority_arrives(const nest_session *, unsigned listener);
/* How many messages of a class were served since the last call. */
uint32_t nest__priority_served(uint32_t rank);
/* Since the last look, so many messages of all classes but the first were served that the loop has
 * to look before it serves more. */
bool nest__priority_soon(void);
/* The loop looks for what has come. Reads the quota anew if HUP has changed it. */
void nest__priority_look(void);
/* The quota of a class, at least 1; any thread may call it. */
uint32_t nest__priority_quota(uint32_t rank);

#endif
