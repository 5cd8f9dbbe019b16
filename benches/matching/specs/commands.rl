/* commands.rl: commands of a line: which, and its argument with the blank before it. */
#include "machine.h"

%%{
    machine commands;
    alphtype unsigned char;

    action begin { from = p; }
@verb    action kindKIND { bench_part(KIND, (size_t)(from - input), (size_t)(p - 1 - input)); }

    argument = (" " [^\r\n\0]*)? >begin "\r";
    main := (
        empty
@verb        | "VERB"i argument "\n" @kindKIND
    )*;
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
