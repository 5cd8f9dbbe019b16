/* options.c: the load generator's command line. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

struct options options = {
    .clients = 64, .depth = 1, .warm = 0.3, .seconds = 3, .timeout = 5, .seed = 1};

static const char usage[] =
    "usage: load --to ADDRESS:PORT (--path PATH --body BYTES | --mix FILE) [OPTIONS]\n"
    "  --mix FILE        lines 'WEIGHT BYTES PATH'; each client draws its own from them\n"
    "  --clients N       connections at once (64)\n"
    "  --depth N         requests of a client that are under way at once, pipelined (1)\n"
    "  --close           a connection for each request\n"
    "  --requests N      the client closes its connection after so many\n"
    "  --reopen          the server may end a connection between two answers: the client makes\n"
    "                    another one; with --requests\n"
    "  --pause SECONDS   of a client in a closed loop after each answer (0)\n"
    "  --rate N          an open loop: so many requests a second arrive, at random times, whether\n"
    "                    earlier ones are answered or not; a latency counts from the arrival\n"
    "  --idle N          as many connections more that have had one answer each and rest\n"
    "  --warm SECONDS    before the measured time (0.3)\n"
    "  --seconds N       the measured time (3)\n"
    "  --timeout N       seconds after which a request has failed (5)\n"
    "  --from A,B,...    own addresses, in turn\n"
    "  --seed N          of what is drawn (1)\n"
    "  --read FD         a file that is read at the beginning and the end of the measured time\n"
    "Prints one JSON object. An answer counts if its status is 200 and its length the file's.\n";

static _Noreturn void wrong(const char *what) {
    fprintf(stderr, "load: %s\n%s", what, usage);
    exit(2);
}

static double number(const char *text, double least, double most) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least && value <= most)) {
        fprintf(stderr, "load: '%s' is no number from %g to %g\n", text, least, most);
        exit(2);
    }
    return value;
}

static void add_target(double weight, uint64_t body, const char *path) {
    struct options *o = &options;
    double before = o->target_count > 0 ? o->targets[o->target_count - 1].until : 0;
    char *one;
    int n = asprintf(&one, "GET %s HTTP/1.1\r\nHost: bench\r\n%s\r\n", path,
                     o->closing ? "Connection: close\r\n" : "");
    o->targets = realloc(o->targets, (o->target_count + 1) * sizeof *o->targets);
    char *request = malloc((size_t)n * o->depth);
    if (n < 0 || o->targets == NULL || request == NULL) {
        wrong("no memory");
    }
    for (unsigned i = 0; i < o->depth; i++) {
        memcpy(request + (size_t)i * (size_t)n, one, (size_t)n);
    }
    free(one);
    o->targets[o->target_count++] =
        (struct target){before + weight, request, (uint32_t)n * o->depth, body};
}

static void read_mix(const char *name) {
    FILE *file = fopen(name, "r");
    double weight;
    unsigned long long body;
    char path[512];
    if (file == NULL) {
        wrong("cannot read the file of --mix");
    }
    while (fscanf(file, "%lf %llu %511s", &weight, &body, path) == 3) {
        add_target(weight, body, path);
    }
    if (!feof(file) || options.target_count == 0) {
        wrong("a line of the file of --mix is not 'WEIGHT BYTES PATH'");
    }
    fclose(file);
}

static void read_address(char *text) {
    char *colon = strrchr(text, ':');
    if (colon == NULL) {
        wrong("--to wants ADDRESS:PORT");
    }
    *colon = '\0';
    options.to.sin_family = AF_INET;
    options.to.sin_port = htons((uint16_t)number(colon + 1, 1, 65535));
    if (inet_pton(AF_INET, text, &options.to.sin_addr) != 1) {
        wrong("--to wants an IPv4 address");
    }
}

static void read_sources(char *text) {
    for (char *one = strtok(text, ","); one != NULL; one = strtok(NULL, ",")) {
        if (options.sources == SOURCES_MOST ||
            inet_pton(AF_INET, one, &options.from[options.sources++]) != 1) {
            wrong("--from wants IPv4 addresses, 64 at most");
        }
    }
}

void read_options(int argc, char **argv) {
    enum {
        TO,
        PATH,
        BODY_,
        MIX,
        CLIENTS,
        DEPTH,
        CLOSE,
        REQUESTS,
        REOPEN,
        PAUSE,
        RATE,
        IDLE,
        WARM,
        SECONDS,
        TIMEOUT,
        FROM,
        SEED,
        READ
    };
    static const struct option known[] = {
        {"to", 1, NULL, TO},
        {"path", 1, NULL, PATH},
        {"body", 1, NULL, BODY_},
        {"mix", 1, NULL, MIX},
        {"clients", 1, NULL, CLIENTS},
        {"depth", 1, NULL, DEPTH},
        {"requests", 1, NULL, REQUESTS},
        {"reopen", 0, NULL, REOPEN},
        {"pause", 1, NULL, PAUSE},
        {"close", 0, NULL, CLOSE},
        {"rate", 1, NULL, RATE},
        {"idle", 1, NULL, IDLE},
        {"warm", 1, NULL, WARM},
        {"seconds", 1, NULL, SECONDS},
        {"timeout", 1, NULL, TIMEOUT},
        {"from", 1, NULL, FROM},
        {"seed", 1, NULL, SEED},
        {"read", 1, NULL, READ},
        {NULL, 0, NULL, 0},
    };
    struct options *o = &options;
    const char *path = NULL, *mix = NULL;
    double body = -1;
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case TO:
            read_address(optarg);
            break;
        case PATH:
            path = optarg;
            break;
        case BODY_:
            body = number(optarg, 0, 1e12);
            break;
        case MIX:
            mix = optarg;
            break;
        case CLIENTS:
            o->clients = (unsigned)number(optarg, 1, 1e6);
            break;
        case DEPTH:
            o->depth = (unsigned)number(optarg, 1, DEPTH_MOST);
            break;
        case CLOSE:
            o->closing = true;
            break;
        case REQUESTS:
            o->requests = (unsigned)number(optarg, 1, 1e9);
            break;
        case REOPEN:
            o->reopens = true;
            break;
        case PAUSE:
            o->pause = number(optarg, 0, 3600);
            break;
        case RATE:
            o->rate = number(optarg, 1, 1e7);
            break;
        case IDLE:
            o->idle = (unsigned)number(optarg, 0, 1e6);
            break;
        case WARM:
            o->warm = number(optarg, 0, 3600);
            break;
        case SECONDS:
            o->seconds = number(optarg, 0.01, 3600);
            break;
        case TIMEOUT:
            o->timeout = number(optarg, 0.01, 3600);
            break;
        case FROM:
            read_sources(optarg);
            break;
        case SEED:
            o->seed = (uint64_t)number(optarg, 1, 1e15);
            break;
        case READ:
            if (o->read_count == READS_MOST) {
                wrong("too many --read");
            }
            o->reads[o->read_count++] = (int)number(optarg, 0, 1e6);
            break;
        default:
            fputs(usage, stderr);
            exit(2);
        }
    }
    if (optind < argc || o->to.sin_port == 0 || (mix == NULL) == (path == NULL) ||
        (path != NULL && body < 0)) {
        wrong("--to, and either --path and --body or --mix, are needed, and nothing more");
    }
    if ((o->closing && (o->depth > 1 || o->idle > 0)) || (o->rate > 0 && o->depth > 1) ||
        (mix != NULL && o->depth > 1)) {
        wrong("--depth fits a closed loop of one path; --close fits neither --depth nor --idle");
    }
    if ((o->requests > 0 && (o->closing || o->depth > 1 || o->idle > 0)) ||
        ((o->requests > 0 || o->pause > 0) && o->rate > 0)) {
        wrong("--requests and --pause fit a closed loop; --requests fits none of --close, --depth, "
              "--idle");
    }
    if (o->reopens && o->requests == 0) {
        wrong("--reopen is for clients with --requests");
    }
    if (mix != NULL) {
        read_mix(mix);
    } else {
        add_target(1, (uint64_t)body, path);
    }
}
