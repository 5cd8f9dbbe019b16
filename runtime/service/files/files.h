/* files.h: $fileOpen, $fileReply, $fileReceive, $fileDelete. */
#ifndef NEST_SERVICE_FILES_H
#define NEST_SERVICE_FILES_H

#include "../../seam.h"

struct nest__opened;

/* scope: action */
struct nest__files_state {
    struct nest__opened *first; /* files that the running action has open, the latest first */
    bool again; /* a guarded deletion found another version: files are opened, not remembered */
    bool fresh; /* scope: connection; an upload is under way: files are opened, not remembered */
};

int nest__files_start(void);
void nest__files_close(void);
void nest__files_lost(long process);
struct nest__need nest__files_need(void);
unsigned nest__files_descriptors(bool most);
void nest__files_leave(nest_session *);

/* -- for service/transfer */
/* Opens a file; the caller closes it. 0 or -errno. */
int nest__files_find(nest_session *, const char *path, nest_file *);
/* Whether the running action has opened this file, and it can be sent: 0; -EBADF; -EISDIR. */
int nest__files_opened(const nest_session *, const nest_file *);

#endif
