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

/* -- names that no path of a client leads to: of uploads that are under way */
enum { NEST__RESERVED_NAME = 64 };
/* Makes one that nobody can guess. 0 or -errno. */
int nest__reserve_name(char name[NEST__RESERVED_NAME]);
bool nest__is_reserved(const char *name);

/* -- home.c: a folder beneath fileRoot for files that have a name for a moment */
void nest__home_begin(int root); /* at start: removes what killed servers left */
void nest__home_end(void);
int nest__home(void); /* its descriptor, which stays home.c's; or -errno */

#endif
