/* files.c: what the files of the simulated server must hold.
 *
 * Called by acts.c, draw.c and server.c. State: which version each file has. A version's content
 * follows from its number, with which it begins, so a file on disk or in a reply says what it is,
 * and whether it is whole. Beneath fileRoot lie fa … fd and the directory sub. */
#include "simulate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_NAMES = 4, FILES_VERSIONS = 1 << 16, FILES_MARK = 5, FILES_MOST = 96 * 1024 };
static char sim_root[128];
static uint32_t sim_sizes[FILES_VERSIONS]; /* of each version; 0: not given */
static uint8_t sim_names[FILES_VERSIONS];  /* whose it is */
static uint32_t sim_versions;              /* given so far; from 1 */
static struct {
    uint32_t version; /* 0: there is none */
    uint32_t busy;    /* uploads under way */
    uint32_t changes; /* uploads that have ended, somehow */
} sim_files[FILES_NAMES];
static uint32_t sim_file_acts, sim_file_busy; /* directives for files: ever, and under way */

uint8_t file_byte(uint32_t version, uint32_t at) {
    uint32_t v = version;
    for (uint32_t i = 0; i < at && i < FILES_MARK; i++) {
        v /= 26;
    }
    return (uint8_t)('a' + (at < FILES_MARK ? v % 26 : (version + at * 7 + at / 100) % 26));
}

/* 0 if it begins as none does. */
static uint32_t file_version(const uint8_t *bytes) {
    uint32_t version = 0;
    for (unsigned i = FILES_MARK; i > 0; i--) {
        version = version * 26 + (uint32_t)(bytes[i - 1] - 'a');
    }
    return version <= sim_versions ? version : 0;
}

uint32_t file_new_version(uint32_t name, uint32_t size) {
    uint32_t version = ++sim_versions % FILES_VERSIONS;
    sim_sizes[version] = size;
    sim_names[version] = (uint8_t)name;
    return version;
}

/* The version on disk, whole; 0: there is no such file. */
static uint32_t file_on_disk(const struct sim_talk *talk, uint32_t name) {
    char path[160];
    static uint8_t bytes[FILES_MOST];
    snprintf(path, sizeof path, "%s/f%c", sim_root, 'a' + (int)name);
    int fd = (open)(path, O_RDONLY);
    if (fd == -1) {
        return 0;
    }
    ssize_t n = (read)(fd, bytes, sizeof bytes);
    close(fd);
    uint32_t version = n < FILES_MARK ? 0 : file_version(bytes);
    bool right = version != 0 && sim_names[version] == name && sim_sizes[version] == (uint32_t)n;
    for (ssize_t i = 0; right && i < n; i++) {
        right = bytes[i] == file_byte(version, (uint32_t)i);
    }
    if (!right) {
        sim_broken(talk, "file f%c is no whole version: %zd bytes", 'a' + (int)name, n);
    }
    return version;
}

static int files_fixed;

uint8_t file_fixed(uint32_t at) {
    return (uint8_t)('A' + at % 57);
}

int file_fixed_fd(void) {
    return files_fixed;
}

void files_begin(void) {
    char path[160];
    const char *base = getenv("TMPDIR");
    snprintf(sim_root, sizeof sim_root, "%s/files-XXXXXX", base == NULL ? "/tmp" : base);
    if (mkdtemp(sim_root) == NULL) {
        sim_broken(NULL, "no folder for files: %s", strerror(errno));
    }
    snprintf(path, sizeof path, "%s/sub", sim_root);
    mkdir(path, 0700);
    nest__config.file_root = sim_root;
    if (nest__file_root_open() != 0) {
        sim_broken(NULL, "fileRoot cannot be opened");
    }
    uint8_t bytes[SIM_FILE];
    for (uint32_t at = 0; at < sizeof bytes; at++) {
        bytes[at] = file_fixed(at);
    }
    files_fixed = memfd_create("fixed", MFD_CLOEXEC);
    if ((write)(files_fixed, bytes, sizeof bytes) != sizeof bytes) {
        sim_broken(NULL, "no file that never changes: %s", strerror(errno));
    }
}

/* No action has one open any more. */
void files_closed(void) {
    if (cache_expire() > 0) {
        (void)cache_close(NULL);
    }
    if (nest__cache_due() != 0 || cache.count != 0 || cache.orphans != 0) {
        sim_broken(NULL, "%u files are open for nobody", (unsigned)cache.count);
    }
}

/* No upload is under way any more, so the folder for their names is empty, if there is one. */
static void files_no_upload(void) {
    char path[400];
    DIR *root = opendir(sim_root);
    for (const struct dirent *entry = readdir(root); entry != NULL; entry = readdir(root)) {
        snprintf(path, sizeof path, "%s/%s", sim_root, entry->d_name);
        DIR *folder = strncmp(entry->d_name, ".nest-upload-", 13) == 0 ? opendir(path) : NULL;
        const struct dirent *left = folder == NULL ? NULL : readdir(folder);
        while (left != NULL && left->d_name[0] == '.') {
            left = readdir(folder);
        }
        if (left != NULL) {
            sim_broken(NULL, "an upload is left: %s", left->d_name);
        }
        if (folder != NULL) {
            closedir(folder);
        }
    }
    closedir(root);
}

/* Every file is what it should be, and nothing else is left. */
void files_end(void) {
    char path[400];
    for (uint32_t name = 0; name < FILES_NAMES; name++) {
        uint32_t version = file_on_disk(NULL, name);
        if (version != sim_files[name].version || sim_files[name].busy != 0) {
            sim_broken(NULL, "file f%c is version %u, not %u", 'a' + (int)name, (unsigned)version,
                       (unsigned)sim_files[name].version);
        }
        snprintf(path, sizeof path, "%s/f%c", sim_root, 'a' + (int)name);
        unlink(path);
    }
    files_no_upload();
    /* No operation fails from here on: a folder that cannot be removed now is removed by the next
     * server. */
    script_fail(&(struct nest__command){.fault = NEST__FAULT_FILE});
    nest__file_root_close();
    DIR *folder = opendir(sim_root);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (entry->d_name[0] == '.' && entry->d_name[1] == 'n') {
            sim_broken(NULL, "an upload is left: %s", entry->d_name);
        }
    }
    closedir(folder);
    snprintf(path, sizeof path, "%s/sub", sim_root);
    rmdir(path);
    if (rmdir(sim_root) == -1) {
        sim_broken(NULL, "something is left in fileRoot");
    }
}

/* -- the actions */

static bool files_pardoned(const struct sim_talk *talk, int error) {
    return sim_pardoned(talk) && (error == EIO || error == ENOSPC || error == EMFILE);
}

/* Of a reply: what it begins with says what must follow. */
void files_reply_bytes(struct sim_talk *talk, const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t at = talk->file_n + (uint32_t)i;
        if (at < FILES_MARK) {
            talk->file_mark[at] = p[i];
            talk->file = at + 1 == FILES_MARK ? file_version(talk->file_mark) : 0;
        }
        if (at + 1 >= FILES_MARK && (talk->file == 0 || p[i] != file_byte(talk->file, at))) {
            sim_broken(talk, "a file is sent that is none, at %u", (unsigned)at);
        }
    }
    talk->file_n += (uint32_t)n;
    talk_want(talk, p, n);
}

/* By its path, or opened first: the runtime closes it when the action has ended. */
static int64_t files_reply_of(struct sim_talk *talk, const char *path) {
    nest_file file;
    if (talk->who % 2 == 0) {
        return nest_file_reply_path(talk->session, path, 0, NEST_WHOLE);
    }
    return nest_file_open(talk->session, path, &file) != 0
               ? -1
               : nest_file_reply_open(talk->session, &file, 0, file.size);
}

void files_get(struct sim_talk *talk, const struct sim_message *message) {
    uint32_t name = message->name;
    const char *path = nest_part(talk->session, 2);
    uint32_t changes = name < FILES_NAMES ? sim_files[name].changes : 0;
    uint32_t busy = name < FILES_NAMES ? sim_files[name].busy : 0;
    talk->file_at_first = name < FILES_NAMES ? sim_files[name].version : 0;
    talk->file = talk->file_n = 0;
    talk->getting = true;
    sim_file_acts++;
    sim_file_busy++;
    acts_ask(talk, SIM_WORK);
    int64_t n = files_reply_of(talk, path);
    int error = errno;
    sim_file_busy--;
    talk->getting = false;
    if (talk->direct != 0) {
        sim_broken(talk, "bytes of a file were sent, and nobody is told");
    }
    bool same = name >= FILES_NAMES ||
                (changes == sim_files[name].changes && busy == 0 && sim_files[name].busy == 0);
    if (n < 0 && sim_pardoned(talk) && error != ETIMEDOUT && error != ECANCELED &&
        (talk->session->c0.state & NEST__CHAN_CUT) != 0) {
        talk->file_cut = true; /* it broke off: what it had promised is not to be had */
        talk->failed = error;
        talk->wait = SIM_NO_WAIT;
        return;
    }
    if (n < 0 && (error == ENOENT || error == EISDIR || files_pardoned(talk, error)) &&
        talk->failed == 0) {
        bool right = error == ENOENT   ? name > FILES_NAMES || (!same || talk->file_at_first == 0)
                     : error == EISDIR ? name == FILES_NAMES
                                       : true;
        if (!right && !sim_pardoned(talk)) {
            sim_broken(talk, "nest_file_reply of \"%s\": %s", path, strerror(error));
        }
        acts_told(talk, "nest_file_reply", false);
        acts_say_text(talk, "no file\n");
        return;
    }
    errno = error;
    if (!acts_told(talk, "nest_file_reply", n < 0)) {
        return;
    }
    if (talk->file == 0 || n != sim_sizes[talk->file] || n != talk->file_n ||
        sim_names[talk->file] != name || (same && talk->file != talk->file_at_first)) {
        sim_broken(talk, "nest_file_reply sends version %u of f%c, %u bytes, says %lld",
                   (unsigned)talk->file, 'a' + (int)name, (unsigned)talk->file_n, (long long)n);
    }
    talk->said = talk->want_n;
    acts_say_text(talk, "\n");
}

void files_put(struct sim_talk *talk, const struct sim_message *message) {
    uint32_t name = message->name, version = message->version, before = sim_files[name].version;
    const char *path = nest_part(talk->session, 2);
    uint32_t faults = nest__faults_of_files, others = sim_file_acts++;
    bool only = sim_file_busy++ == 0;
    uint32_t had = talk->taken, changes = sim_files[name].changes, busy = sim_files[name].busy++;
    acts_ask(talk, SIM_WORK);
    int64_t n =
        nest_file_receive(talk->session, path, message->body, version % 2 == 0 ? NEST_SYNC : 0u);
    int error = errno;
    sim_files[name].busy--;
    sim_file_busy--;
    sim_files[name].changes++;
    if (n >= 0 && only && faults != nest__faults_of_files && sim_file_acts == others + 1) {
        sim_broken(talk, "an upload is acknowledged, and an operation on it has failed");
    }
    /* What began later may have come to its place with it. */
    bool alone = busy == 0 && sim_files[name].busy == 0 && changes + 1 == sim_files[name].changes;
    uint32_t now = file_on_disk(talk, name);
    bool of_file = n < 0 && talk->failed == 0 &&
                   (error == EPIPE || files_pardoned(talk, error) ||
                    (error == ENOMEM && sim_pardoned(talk) &&
                     (talk->session->c0.state & NEST__CHAN_GONE) == 0));
    if (n >= 0 && n != message->body) {
        sim_broken(talk, "nest_file_receive says %lld of %u", (long long)n,
                   (unsigned)message->body);
    }
    if (n >= 0 && alone && now != version) {
        sim_broken(talk, "an upload was acknowledged and is not there");
    }
    if (n < 0 && alone && now != before && !sim_pardoned(talk)) {
        sim_broken(talk, "an upload failed, and the file is another");
    }
    sim_files[name].version = now;
    errno = error;
    if (n < 0 && !of_file) {
        acts_told(talk, "nest_file_receive", true);
        return;
    }
    acts_told(talk, "nest_file_receive", false);
    uint32_t there = talk->sent - had < message->body ? talk->sent - had : message->body;
    if (error == EPIPE && n < 0 && !(talk->eof && there < message->body)) {
        sim_broken(talk, "nest_file_receive says end of file");
    }
    acts_took(talk, NULL, there, "nest_file_receive");
    acts_say_number(talk, "put", (long)(n < 0 ? 0 : n));
}
