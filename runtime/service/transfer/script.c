/* script.c: scripts have no second connections to send files to, nor to receive them from.
 *
 * Called by actions. No state. */
#include "transfer.h"

#include <errno.h>

struct nest__need nest__transfer_need(void) {
    return (struct nest__need){"a transfer", NULL, 0, 0};
}

static int transfer_none(void) {
    errno = EBADF;
    return -1;
}

int nest_drain_to(nest_session *s, int handle, unsigned flags) {
    (void)s, (void)handle, (void)flags;
    return transfer_none();
}

int64_t nest_file_reply_to_path(nest_session *s, int handle, const char *path, uint64_t offset,
                                uint64_t length, unsigned flags) {
    (void)s, (void)handle, (void)path, (void)offset, (void)length, (void)flags;
    return transfer_none();
}

int64_t nest_file_reply_to_open(nest_session *s, int handle, nest_file *file, uint64_t offset,
                                uint64_t length, unsigned flags) {
    (void)s, (void)handle, (void)file, (void)offset, (void)length, (void)flags;
    return transfer_none();
}

int64_t nest_file_receive_from_upload(nest_session *s, int handle, nest_upload *upload,
                                      uint64_t length, unsigned flags) {
    (void)s, (void)handle, (void)upload, (void)length, (void)flags;
    return transfer_none();
}

int64_t nest_file_receive_from_path(nest_session *s, int handle, const char *path, uint64_t length,
                                    unsigned flags) {
    (void)s, (void)handle, (void)path, (void)length, (void)flags;
    return transfer_none();
}
