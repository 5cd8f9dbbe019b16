/* recognise.rl: whole heads, and where they end. */
#include "machine.h"

%%{
    machine recognise;
    alphtype unsigned char;

    action head {
        bench_part(0, (size_t)(from - input), (size_t)(p + 1 - input));
        from = p + 1;
    }

    crlf = "\r\n";
    token = [!#$%&'*+.^_`|~0-9A-Za-z\-]+;
    value = (0x21..0x7e | 0x80..0xff) ("\t" | 0x20..0x7e | 0x80..0xff)*;

    line = [A-Z]+ " " (0x21..0x7e)+ " HTTP/" [0-9] "." [0-9] crlf;
    header = token ":" [ \t]* value? crlf;
    main := (line header* crlf @head)*;
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
