/* lines.rl: lines, and what they hold. Without `noend`: gcc makes the faster loop of this. */
#include "machine.h"

%%{
    machine lines;
    alphtype unsigned char;

    action begin { from = p; }
    action line { bench_part(0, (size_t)(from - input), (size_t)(p - input)); }

    main := ([^\r\n\0]* >begin %line "\r\n")*;
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
    %% write exec;
    machine.at = p;
    machine.from = from;
    machine.state = cs;
    return p == pe;
}

bool bench_end(const uint8_t *end) {
    return machine.at == end;
}
