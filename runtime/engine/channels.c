/* channels.c: reading, writing and waiting on the further channels of a session; see channels.h.
 *
 * Called by directives; loop/ and blocking/ call nest__chan_*. State: the channels' output, in
 * their records; a worker's empty blocks for it, so that a channel that is opened on a warm path
 * allocates nothing. Must not know how bytes move. */
#include "channels.h"
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- what loop/ and blocking/ tell */

uint32_t nest__chan_deadline(nest_session *s, struct nest__chan *chan) {
    return nest__output_deadline(&nest__further_of(s, chan)->out);
}

bool nest__chan_overdue(nest_session *s, struct nest__chan *chan) {
    return nest__output_overdue(chan, &nest__further_of(s, chan)->out);
}

void nest__chan_lost(nest_session *s, struct nest__chan *chan, uint8_t state) {
    struct nest__output *out = &nest__further_of(s, chan)->out;
    chan->state |= state;
    nest__queue_drop(&out->queue);
    out->waits = false;
}

void nest__chan_released(nest_session *s, struct nest__chan *chan) {
    struct nest__further *further = nest__further_of(s, chan);
    struct nest__queue *queue = &further->out.queue;
    struct nest__worker *worker = nest__worker();
    nest__queue_drop(queue);
    if (queue->first != NULL && queue->first->cap <= NEST__KEPT &&
        worker->blocks_n < NEST__SPARE_WORK) {
        nest__queue_join(&worker->blocks, queue);
        worker->blocks_n++;
    }
    nest__queue_free(queue);
    free(further->in);
    nest__further_give(s, further);
}

/* A block that another channel has left, so that the queue need not allocate one. */
static void channels_block(struct nest__queue *queue) {
    struct nest__worker *worker = nest__worker();
    struct nest__item *block = worker->blocks.first;
    if (block != NULL) {
        worker->blocks.first = block->next;
        worker->blocks.last = block->next == NULL ? NULL : worker->blocks.last;
        worker->blocks_n--;
        block->next = NULL;
        queue->first = queue->last = block;
    }
}

/* -- what can fail */

static int channels_fail(int error) {
    errno = error;
    return -1;
}

struct nest__further *nest__channel_use(nest_session *s, unsigned number) {
    if (nest__fails(s, nest__acting(s))) {
        (void)nest__refuse(s);
        return NULL;
    }
    struct nest__chan *chan = number == 0 ? NULL : nest__chan_at(s, number);
    if (chan == NULL) {
        errno = EBADF;
        return NULL;
    }
    if ((chan->state & (NEST__CHAN_GONE | NEST__CHAN_CUT)) != 0) {
        errno = (chan->state & NEST__CHAN_GONE) != 0 ? ECONNRESET : ECANCELED;
        return NULL;
    }
    return nest__further_of(s, chan);
}

/* A wait on this channel has ended so. */
static int channels_failed(nest_session *s, struct nest__further *further, int result) {
    if (result == -ETIMEDOUT) {
        return channels_fail(ETIMEDOUT);
    }
    if (result != -ECONNRESET || (s->c0.state & NEST__CHAN_GONE) != 0) {
        return nest__cut_short(s, result);
    }
    nest__chan_lost(s, &further->chan, NEST__CHAN_GONE);
    return channels_fail(ECONNRESET);
}

/* It ends early to see that output for the client is overdue. */
int nest__channel_wait(nest_session *s, struct nest__further *further, struct nest__wait wait) {
    uint32_t end = wait.deadline;
    wait.chan = &further->chan;
    for (;;) {
        uint32_t due = nest__out_deadline(s);
        wait.deadline = nest__earlier(end, due);
        int result = nest__wait_in_fiber(s, &wait);
        bool over = result == -ETIMEDOUT || (result == 0 && wait.what == NEST__TIME);
        if (over && wait.deadline != end) {
            if (nest__out_overdue(s)) {
                return nest__unsent(s);
            }
        } else {
            return result < 0 ? channels_failed(s, further, result) : result;
        }
    }
}

int nest__channel_drain(nest_session *s, struct nest__further *further, uint64_t mark) {
    for (;;) {
        uint32_t due = nest__output_deadline(&further->out);
        struct nest__wait wait = {.what = NEST__DRAINED, .mark = mark, .deadline = due};
        int result = nest__channel_wait(s, further, wait);
        if (result == 0 || errno != ETIMEDOUT || (s->flags & NEST__CUT) != 0) {
            return result;
        }
        if (nest__chan_overdue(s, &further->chan)) { /* otherwise it makes progress */
            nest__chan_lost(s, &further->chan, NEST__CHAN_CUT);
            return channels_fail(ETIMEDOUT);
        }
    }
}

/* -- what directives call */

int nest__channel_attach(nest_session *s, int fd, uint8_t kind) {
    if (nest__fails(s, nest__acting(s))) {
        return nest__refuse(s);
    }
    struct nest__further *further = nest__further_take(s, fd, kind);
    if (further == NULL) {
        return channels_fail(EMFILE);
    }
    channels_block(&further->out.queue);
    return further->number;
}

int nest__channel_write(nest_session *s, unsigned number, const void *p, size_t n) {
    const uint8_t *bytes = p;
    struct nest__further *further = nest__channel_use(s, number);
    while (further != NULL && n > 0) {
        struct nest__queue *queue = &further->out.queue;
        uint64_t limit = nest__config.output_buffer;
        size_t room = queue->n < limit ? (size_t)(limit - queue->n) : 0;
        room = room < n ? room : n;
        if (room == 0) {
            if (nest__channel_drain(s, further, limit / 2) < 0) {
                return -1;
            }
        } else if (nest__queue_room(queue, room) < 0) {
            return nest__cut_short(s, -ENOMEM);
        } else {
            memcpy(nest__queue_end(queue), bytes, room);
            nest__queue_added(queue, room);
            bytes += room;
            n -= room;
        }
    }
    return further == NULL ? -1 : 0;
}

int nest__channel_flush(nest_session *s, unsigned number) {
    struct nest__further *further = nest__channel_use(s, number);
    return further == NULL ? -1 : nest__channel_drain(s, further, 0);
}

int64_t nest__channel_read(nest_session *s, unsigned number, void *into, uint32_t room,
                           uint32_t ms) {
    struct nest__further *further = nest__channel_use(s, number);
    if (further == NULL || nest__channel_drain(s, further, 0) < 0) {
        return -1;
    }
    if ((further->chan.state & NEST__CHAN_EOF) != 0) {
        return 0;
    }
    struct nest__wait wait = {.what = NEST__INPUT, .into = into, .room = room};
    wait.deadline = ms == 0 ? 0 : nest__after(nest__clock(), ms);
    return nest__channel_wait(s, further, wait);
}

int nest__channel_pause(nest_session *s, unsigned number, uint32_t ms) {
    struct nest__further *further = nest__channel_use(s, number);
    if (further == NULL || ms == 0) {
        return further == NULL ? -1 : 0;
    }
    uint32_t until = nest__after(nest__clock(), ms < NEST__LONGEST ? ms : NEST__LONGEST);
    uint32_t due;
    while ((due = nest__output_deadline(&further->out)) != 0 && !nest__reached(until, due)) {
        int result = nest__channel_wait(s, further,
                                        (struct nest__wait){.what = NEST__TIME, .deadline = due});
        if (result < 0) {
            return -1;
        }
        if (nest__chan_overdue(s, &further->chan)) {
            nest__chan_lost(s, &further->chan, NEST__CHAN_CUT);
            return channels_fail(ETIMEDOUT);
        }
    }
    return nest__channel_wait(s, further,
                              (struct nest__wait){.what = NEST__TIME, .deadline = until});
}

int nest__channel_close(nest_session *s, unsigned number, bool cut) {
    struct nest__chan *chan = number == 0 ? NULL : nest__chan_at(s, number);
    if (chan == NULL) {
        return channels_fail(EBADF);
    }
    nest__chan_end(s, chan, cut || (chan->state & NEST__CHAN_CUT) != 0);
    return 0;
}
