/* memcached.rl: command lines of memcached. Keys of one command are one part. */
#include "machine.h"

%%{
    machine memcached;
    alphtype unsigned char;

    action begin { from = p; }
    action keys { bench_part(0, (size_t)(from - input), (size_t)(p - input)); }
    action key { bench_part(1, (size_t)(from - input), (size_t)(p - input)); }
    action flags { bench_part(2, (size_t)(from - input), (size_t)(p - input)); }
    action exptime { bench_part(3, (size_t)(from - input), (size_t)(p - input)); }
    action bytes { bench_part(4, (size_t)(from - input), (size_t)(p - input)); }
    action deleted { bench_part(5, (size_t)(from - input), (size_t)(p - input)); }
    action counted { bench_part(6, (size_t)(from - input), (size_t)(p - input)); }
    action by { bench_part(7, (size_t)(from - input), (size_t)(p - input)); }

    crlf = "\r\n";
    key = (0x21..0x7e)+;
    number = [0-9]+;
    quiet = " noreply"?;

    get = "get" "s"? " " (key (" " key)*) >begin %keys crlf;
    store = ("set" | "add" | "replace") " " key >begin %key " " number >begin %flags
            " " number >begin %exptime " " number >begin %bytes quiet crlf;
    delete = "delete " key >begin %deleted quiet crlf;
    count = ("incr" | "decr") " " key >begin %counted " " number >begin %by quiet crlf;
    main := (get | store | delete | count)*;
}%%
%% write data noerror nofinal;

void bench_begin(const uint8_t *input) {
    int cs;
    %% write init;
    machine.input = machine.at = machine.from = input;
    machine.state = cs;
}

bool bench_feed(uint8_t *piece, size_t n) {
    const uint8_t *input = machine.input, *from = machine.from;
    const uint8_t *p = piece, *pe = piece + n;
    int cs = machine.state;
    %% write EXEC;
    machine.at = p;
    machine.from = from;
    machine.state = cs;
    return p == pe;
}

bool bench_end(const uint8_t *end) {
    return machine.at == end;
}
