/* words.c: which texts are values of option tls. No state. Must not know what is in the files. */
#include "tls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { TLS_REASON = 256 };

int nest__tls_valid(const char *text, char *reason) {
    static const char blanks[] = " \t";
    unsigned words = 0;
    for (const char *p = text + strspn(text, blanks); *p != '\0'; p += strspn(p, blanks)) {
        p += strcspn(p, blanks);
        words++;
    }
    if ((words == 1 && strcmp(text, "none") == 0) || (words > 0 && words % 2 == 0)) {
        return 0;
    }
    snprintf(reason, TLS_REASON,
             "'%.40s' is not none, nor the file of a certificate and the file of its key, as in "
             "cert.pem key.pem; more such pairs may follow",
             text);
    return -EINVAL;
}
