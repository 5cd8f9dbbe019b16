/* file.h: functions shared by the files of file/: finding paths below fileRoot. */
#ifndef NEST_FILE_H
#define NEST_FILE_H

#include "access.h"

#include <sys/stat.h>

/* Opens `path` below fileRoot, with openat's flags (without O_CREAT). Leading slashes stand for
 * fileRoot. What follows the first "//" is looked up below the folder before it, whose name has
 * less than NEST__FOLDER_NAME bytes. Returns a descriptor, or -errno: -EXDEV if the path leads
 * outside of fileRoot or of that folder; with `cached`, -EAGAIN if the lookup would wait for a
 * disk. */
enum { NEST__FOLDER_NAME = 256 };
int nest__file_find(const char *path, int flags, bool cached);
/* Opens the directory that contains the last component of `path`, only for lookups, and sets *name
 * to that component, which points into `path`. Returns a descriptor, or -errno: -EISDIR if there is
 * no such component ("a/", "..", "/"). */
int nest__file_folder(const char *path, const char **name);
/* stat(2) of the path, without a check that it is below fileRoot. Does not wait for a disk if the
 * file is open and has not moved. Returns 0 or -errno. */
int nest__file_look(const char *path, struct stat *);

/* -- names that no path of a client leads to: of uploads that are under way */
enum { NEST__RESERVED_NAME = 64 };
/* Creates a name that nobody can guess. Returns 0 or -errno. */
int nest__reserve_name(char name[NEST__RESERVED_NAME]);
bool nest__is_reserved(const char *name);

/* -- home.c: the folder below fileRoot for temporary names of uploads -------------------------- */
void nest__home_begin(int root); /* call it at the start: removes what killed servers left */
void nest__home_end(void);
int nest__home(void); /* its descriptor, which stays home.c's; or -errno */
/* The same, after a file could not get a name there: creates the folder anew if it was removed. */
int nest__home_again(void);

#endif
