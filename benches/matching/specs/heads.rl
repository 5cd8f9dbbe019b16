/* heads.rl: a head, line by line: method, target, version; name, value. */
#include "machine.h"

%%{
    machine heads;
    alphtype unsigned char;

    action begin { from = p; }
    action method { bench_part(0, (size_t)(from - input), (size_t)(p - input)); }
    action target { bench_part(1, (size_t)(from - input), (size_t)(p - input)); }
    action version { bench_part(2, (size_t)(from - input), (size_t)(p - input)); }
    action name { bench_part(3, (size_t)(from - input), (size_t)(p - input)); }
    action value { bench_part(4, (size_t)(from - input), (size_t)(p - input)); }

    crlf = "\r\n";
    token = [!#$%&'*+.^_`|~0-9A-Za-z\-]+;
    value = (0x21..0x7e | 0x80..0xff) ("\t" | 0x20..0x7e | 0x80..0xff)*;

    line = [A-Z]+ >begin %method " " (0x21..0x7e)+ >begin %target
           " HTTP/" ([0-9] "." [0-9]) >begin %version crlf;
    header = token >begin %name ":" [ \t]* (value >begin %value)? crlf;
    main := (line header* crlf)*;
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
