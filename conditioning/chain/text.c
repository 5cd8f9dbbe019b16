/* Text that others wrote, for a terminal: what is no printable ASCII becomes \n, \r, \t or \xhh,
 * and a backslash is doubled, so that the bytes can be told from what is shown. */
#include "chain.h"

#include <string.h>

void shown(char *to, size_t room, const char *text, size_t n) {
    static const char plain[] = "\n\r\t\\", letters[] = "nrt\\", digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n && text[i] != '\0' && room > 4; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *special = strchr(plain, c);
        char escape[] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
        size_t length = 4;
        if (special != NULL) {
            escape[1] = letters[special - plain];
            length = 2;
        } else if (c >= ' ' && c <= '~') {
            escape[0] = (char)c;
            length = 1;
        }
        memcpy(to, escape, length);
        to += length;
        room -= length;
    }
    *to = '\0';
}
