/* file.h: what the files of file/ share: finding what is beneath fileRoot. */
#ifndef NEST_FILE_H
#define NEST_FILE_H

#include "../seam.h"

#include <sys/stat.h>

/* Opens what `path` names beneath fileRoot, with openat's flags (no O_CREAT). Leading slashes mean
 * fileRoot. A descriptor, or -errno: -EXDEV if it leads outside; `cached`: -EAGAIN rather than wait
 * for a disk. */
int nest__file_find(const char *path, int flags, bool cached);
/* The directory that the last name of `path` is in, for names to be looked up, and that name, which
 * lies in `path`. A descriptor, or -errno: -EISDIR if there is no such name ("a/", "..", "/"). */
int nest__file_folder(const char *path, const char **name);
/* stat(2) of what it names, wherever that is. Waits for no disk if it is open and has not moved. 0
 * or -errno. */
int nest__file_look(const char *path, struct stat *);

#define NEST__UPLOAD_PREFIX ".nest-upload-" /* of files beside the place that they will have */

#endif
