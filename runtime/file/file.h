/* file.h: what the files of file/ share: finding what is beneath fileRoot. */
#ifndef NEST_FILE_H
#define NEST_FILE_H

#include "../seam.h"

/* Opens what `path` names beneath fileRoot, with openat's flags (no O_CREAT). Leading slashes mean
 * fileRoot. A descriptor, or -errno: -EXDEV if it leads outside; `cached`: -EAGAIN rather than wait
 * for a disk. */
int nest__file_find(const char *path, int flags, bool cached);

#endif
