/* The filters to which a running chain was changed, in a file that outlives the chain: the program
 * that started it gives the same file to the next one, which then begins with these filters.
 * Must not know: who changes filters, what the filters are. */
#define _GNU_SOURCE
#include "chain.h"

#include <string.h>
#include <unistd.h>

int keep = -1;

int keep_split(char *line, char **texts) {
    int count = 0;
    for (char *piece; count <= MOST_FILTERS && (piece = strsep(&line, " ")) != NULL;)
        if (*piece != '\0')
            texts[count++] = piece;
    return count;
}

bool keep_read(char line[KEEP_LINE]) {
    ssize_t got = keep == -1 ? -1 : pread(keep, line, KEEP_LINE - 1, 0);
    line[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* The file never has a part of a line: it is emptied first, and an empty one counts as none. */
bool keep_write(const char *line) {
    size_t length = strlen(line);
    return keep == -1 ||
           (ftruncate(keep, 0) == 0 && pwrite(keep, line, length, 0) == (ssize_t)length);
}
