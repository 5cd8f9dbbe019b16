"""Hostile specifications of many shapes, each in proportion to a size.

Must not know: what is measured, or how the compiler bounds its work.
"""

NL = 'NL \\r?\\n\n'


def rules(body, head=''):
    """A specification with these rules."""
    return f'{head}{NL}%%\n{body}'


def action(body, head='', more=''):
    """A specification with one rule that has this action."""
    return rules(f'{more}"a" NL {{ {body} }}\n', head)


def each(size, make, join=''):
    """One piece of text for each number."""
    return join.join(make(number) for number in range(size))


def nest(size, before, inside, behind):
    """Text inside as many pairs of brackets."""
    return before * size + inside + behind * size


def declared(size):
    """So many states, but not more than a specification may have."""
    return '%state ' + ' '.join(f'S{number}' for number in range(min(size, 60))) + '\n'


# What the shape is called: how its text follows from a size. A size is about 30 bytes.
DECLARATIONS = {
    'states in one line': lambda n: rules('"a" NL { }\n', f'%state {each(n, "S{}".format, " ")}\n'),
    'states in many lines': lambda n: rules('"a" NL { }\n', each(n, '%state S{}\n'.format)),
    'states set and tested': lambda n: action(
        each(n, '$seen(S{}); '.format), f'%state {each(n, "S{}".format, " ")}\n',
        each(n, lambda i: f'S{i}: "{i}" NL {{ }}\n')),
    'one state many times': lambda n: rules('"a" NL { }\n', f'%state {"S " * n}\n'),
    'condition macros that double': lambda n: rules(
        f'C{n}: "a" NL {{ $seen(A); }}\n',
        '%state A\nC0 A\n' + each(n, lambda i: f'C{i + 1} C{i} && C{i}\n')),
    'condition macros that double, many rules': lambda n: rules(
        each(n, lambda i: f'C{n}: "a{i}" NL {{ $seen(A); }}\n'),
        '%state A\nC0 A\n' + each(n, lambda i: f'C{i + 1} C{i} && C{i}\n')),
    'a chain of condition macros': lambda n: rules(
        f'C{n}: "a" NL {{ $seen(A); }}\n',
        '%state A\nC0 A\n' + each(n, lambda i: f'C{i + 1} C{i}\n')),
    'a chain of condition macros backwards': lambda n: rules(
        'C0: "a" NL { $seen(A); }\n',
        '%state A\n' + each(n, lambda i: f'C{i} C{i + 1}\n') + f'C{n} A\n'),
    'a circle of condition macros': lambda n: rules(
        'C0: "a" NL { }\n', each(n, lambda i: f'C{i} C{(i + 1) % n} && C0\n')),
    'pattern macros that double': lambda n: rules(
        f'C{n} NL {{ }}\n', 'C0 "a"\n' + each(n, lambda i: f'C{i + 1} C{i} C{i}\n')),
    'a chain of pattern macros': lambda n: rules(
        f'C{n} NL {{ }}\n', 'C0 "a"\n' + each(n, lambda i: f'C{i + 1} C{i}\n')),
    'a circle of pattern macros': lambda n: rules(
        'C0 NL { }\n', each(n, lambda i: f'C{i} C{(i + 1) % n} "a"\n')),
    'unused macros': lambda n: rules('"a" NL { }\n', each(n, 'M{} "a"\n'.format)),
    'empty macros': lambda n: rules('"a" NL { }\n', each(n, 'M{}\n'.format)),
    'one macro many times': lambda n: rules('"a" NL { }\n', 'M "a"\n' * n),
    'macros that begin with a sign': lambda n: rules('"a" NL { }\n', each(n, 'M{} = "a"\n'.format)),
    'options': lambda n: rules('"a" NL { }\n', '%option port 80\n' * n),
    'unknown options': lambda n: rules('"a" NL { }\n', each(n, '%option optio{} yes\n'.format)),
    'unknown declarations': lambda n: rules('"a" NL { }\n', '%stat A B C D\n' * n),
    'includes that are not there': lambda n: rules('"a" NL { }\n', '%include "absent.nest"\n' * n),
    'C among declarations': lambda n: rules('"a" NL { }\n', each(n, 'int v{};\n'.format)),
    'unfinished C among declarations': lambda n: rules('"a" NL { }\n', 'int v = {\n' * n),
    'prologues': lambda n: rules('"a" NL { }\n', each(n, '%{{\nint v{};\n%}}\n'.format)),
    'one prologue of many globals': lambda n: rules(
        '"a" NL { }\n', f'%{{\n{each(n, "static int v{};".format)}\n%}}\n'),
    'globals that actions write': lambda n: rules(
        each(n, lambda i: f'"{i}" NL {{ v{i}++; }}\n'),
        f'%{{\n{each(n, "static int v{};".format)}\n%}}\n'),
    'C macros': lambda n: rules(
        'int x;\n"a" NL { }\n', f'%{{\n{each(n, lambda i: f"#define M{i} (x + M{i - 1})" + chr(10))}%}}\n'),
    'comments': lambda n: rules('"a" NL { }\n', '/* a comment */ // another\n' * n),
    'one comment': lambda n: rules('"a" NL { }\n', f'/*{" a comment" * n}*/\n'),
    'unfinished comments': lambda n: rules('"a" NL { }\n', '/* a comment\n' * n),
    'remarks': lambda n: rules('// nest: allow W0302 "reason"\n"a" NL { }\n' * n),
    'rules in one line': lambda n: action('},{' * n),
    'a variable in nested blocks': lambda n: rules(
        f'int v;\n"a" NL {{ {nest(n, "{ int w; v++; ", ";", " }")} }}\n'),
    'sizes of a variable': lambda n: rules(
        f'int v;\nchar w[{each(n, lambda i: "sizeof v", " + ")}];\n"a" NL {{ v = 0; w[0] = 0; }}\n'),
    'nested struct without blanks': lambda n: rules(
        nest(n, 'struct{', 'int x;', '}s;') + '\n"a" NL { }\n'),
    'arrays in one declaration of a struct': lambda n: rules(
        f'struct {{ char {each(n, "v{}[9]".format, ", ")}; }} s;\n"a" NL {{ }}\n'),
    'a long condition around many rules': lambda n: rules(
        f'{each(n, lambda i: "S1", " || ")}: {{\n{each(n, lambda i: f"{chr(34)}{i}{chr(34)} NL {{ $seen(S1); }}" + chr(10))}}}\n',
        '%state S1\n'),
    'rules with different conditions': lambda n: rules(
        each(n, lambda i: ' && '.join(f'{"!" if i >> bit & 1 else ""}S{bit}' for bit in range(14))
             + f': "{i}" NL {{ $seen(S{i % 14}); }}\n'), declared(14)),
    'remarks in one line': lambda n: rules('/* nest: allow W0302 "reason" */ ' * n + '"a" NL { }\n'),
    'blanks': lambda n: rules(' ' * 30 * n + '"a" NL { }\n'),
    'empty lines': lambda n: rules('\n' * 30 * n + '"a" NL { }\n'),
    'lines without a divider': lambda n: '"a" { }\n' * n,
    'dividers': lambda n: rules('"a" NL { }\n') + '%%\n' * n,
}

PATTERNS = {
    'rules': lambda n: rules(each(n, lambda i: f'r{i} = "WORD{i}" NL {{ $reply("ok\\n"); }}\n')),
    'rules with nothing in common': lambda n: rules(
        each(n, lambda i: f'"{(i + 1) * 7919 * 104729}" NL {{ ; }}\n')),
    'rules with a part': lambda n: rules(
        each(n, lambda i: f'"WORD{i} " [a-z]+ NL {{ $reply($2); }}\n')),
    'one rule many times': lambda n: rules('"a" NL { }\n' * n),
    'rules with one name': lambda n: rules('r = "a" NL { }\n' * n),
    'rules and a catch-all': lambda n: rules(
        each(n, lambda i: f'"WORD{i} " {{ }}\n') + '[^\\n]* "\\n" { }\n'),
    'answers without a line end': lambda n: rules(
        each(n, lambda i: f'"word{i}" {{ $reply("ok"); }}\n')),
    'rules under conditions': lambda n: rules(
        each(n, lambda i: f'S{i % 60}: "WORD{i}" NL {{ $next(S{(i * 7) % min(n, 60)}); }}\n'),
        declared(60)),
    'rules under long conditions': lambda n: rules(
        each(n, lambda i: f'S{i % 9} || !S{i % 7} && S1: "WORD{i}" NL {{ $seen(S{i % 9}); }}\n'),
        declared(9)),
    'one long condition': lambda n: rules(
        each(n, lambda i: f'S{i % 9}', ' && ') + ': "a" NL { $seen(S1); }\n', declared(9)),
    'a condition of many parentheses': lambda n: rules(
        nest(n, '(', 'S1', ')') + ': "a" NL { $seen(S1); }\n', declared(9)),
    'a condition of many signs': lambda n: rules(
        '!' * n + 'S1: "a" NL { $seen(S1); }\n', declared(9)),
    'undeclared states': lambda n: rules(each(n, lambda i: f'T{i}: "a" NL {{ }}\n'), declared(9)),
    'blocks of conditions': lambda n: rules(nest(n, 'S1: {\n', '"a" NL { }\n', '}\n'), declared(9)),
    'timers': lambda n: rules(each(n, lambda i: f'TIMEOUT({i + 1}s) {{ }}\n') + '"a" NL { }\n'),
    'START many times': lambda n: rules('START { }\n' * n + '"a" NL { }\n'),
    'a long literal': lambda n: rules(f'"{"abcdefghij" * n}" NL {{ }}\n'),
    'many elements': lambda n: rules(f'{each(n, lambda i: chr(34) + str(i) + chr(34), " ")} NL {{ }}\n'),
    'a wide choice': lambda n: rules(f'({each(n, lambda i: f"word{i * 7919}", "|")}) NL {{ }}\n'),
    'deep groups': lambda n: rules(f'{nest(n, "(", "a", ")")} NL {{ }}\n'),
    'deep choices': lambda n: rules(f'{nest(n, "(b|", "a", ")")} NL {{ }}\n'),
    'deep repetitions': lambda n: rules(f'{nest(min(n, 200), "(", "a", ")*")} NL {{ }}\n' * (n // 20)),
    'many repetitions': lambda n: rules(f'{"a*" * n} NL {{ }}\n'),
    'many optional parts': lambda n: rules(f'{"(ab)?" * n} NL {{ }}\n'),
    'counts': lambda n: rules(f'{"[a-z]{1,30}" * n} NL {{ }}\n'),
    'one count': lambda n: rules(f'(.*x.{{{min(n, 1000)}}}) NL {{ }}\n'),
    'long classes': lambda n: rules(f'[{"abcdefghij" * n}] NL {{ }}\n'),
    'many classes': lambda n: rules(f'{"[a-z0-9_]" * n} NL {{ }}\n'),
    'unclosed classes': lambda n: rules('[abc NL { }\n' * n),
    'unclosed groups': lambda n: rules('(((abc NL { }\n' * n),
    'one unclosed group': lambda n: rules('(' * n),
    'unclosed strings': lambda n: rules('"abc NL { }\n' * n),
    'bare words': lambda n: rules(each(n, lambda i: f'word{i} NL {{ }}\n')),
    'many bare words': lambda n: rules(each(n, lambda i: f'word{i} ') + 'NL { }\n'),
    'escapes': lambda n: rules(f'"{chr(92)}x41{chr(92)}n{chr(92)}101" NL {{ }}\n' * n),
    'wrong escapes': lambda n: rules('\\q\\q\\q NL { }\n' * n),
    'rules without actions': lambda n: rules('"a" NL\n' * n),
    'anything anywhere': lambda n: rules(each(n, lambda i: f'.* "foo{i}" .* "bar{i}" .* NL {{ }}\n')),
    'doubling automata': lambda n: rules(
        each(n, lambda i: f'"{i} " ("a"|"b")* "a" ("a"|"b"){{10}} NL {{ }}\n')),
}

ACTIONS = {
    'nested struct': lambda n: rules(nest(n, 'struct { ', 'int x;', ' } s;') + '\n"a" NL { }\n'),
    'nested unclosed struct': lambda n: rules('struct { ' * n + '\n"a" NL { }\n'),
    'nested struct in a prologue': lambda n: rules(
        '"a" NL { }\n', f'%{{\n{nest(n, "struct { ", "int x;", " } s;")}\n%}}\n'),
    'nested struct in an action': lambda n: action(nest(n, 'struct { ', 'int x;', ' } s;')),
    'nested unclosed struct in an action': lambda n: action('struct { ' * n),
    'variables': lambda n: rules(each(n, 'int v{};\n'.format) + '"a" NL { }\n'),
    'variables in one declaration': lambda n: rules(
        f'int {each(n, "v{}".format, ", ")};\n"a" NL {{ }}\n'),
    'variables that are used': lambda n: rules(
        each(n, 'int v{};\n'.format) + f'"a" NL {{ {each(n, "v{}++; ".format)} }}\n'),
    'variables in macros': lambda n: rules(
        'int x;\n' + each(n, '#define M{} x\n'.format) + '"a" NL { }\n'),
    'C macros that double in an action': lambda n: action(
        f'M{n};', '%{\nstatic int v;\n#define M0 v++\n'
        + each(n, lambda i: f'#define M{i + 1} M{i}; M{i}\n') + '%}\n'),
    'a long C macro in an action': lambda n: action(
        'M; ' * n, f'%{{\nstatic int v;\n#define M {"v++; " * n}\n%}}\n'),
    'members of members of a global': lambda n: action(
        f'v{".m[1]" * n}.c[1] = 1; ' * 9, '%{\nstruct s0 { char c[2]; };\n'
        + each(n, lambda i: f'struct s{i + 1} {{ struct s{i} m[2]; }};\n') + f'static struct s{n} v;\n%}}\n'),
    'one variable many times': lambda n: rules('int v;\n' * n + '"a" NL { }\n'),
    'arrays': lambda n: rules(f'int v{"[1]" * n};\n"a" NL {{ v = 0; }}\n'),
    'pointers': lambda n: rules(f'int {"*" * n}v;\n"a" NL {{ v = 0; }}\n'),
    'declarators in parentheses': lambda n: rules(f'int {nest(n, "(", "v", ")")};\n"a" NL {{ v = 0; }}\n'),
    'initialisers': lambda n: rules(f'int v[] = {{ {"1, " * n} }};\n"a" NL {{ v[0] = 0; }}\n'),
    'nested initialisers': lambda n: rules(
        f'int v = {nest(n, "{", "1", "}")};\n"a" NL {{ v = 0; }}\n'),
    'functions': lambda n: rules('"a" NL { f0(); }\n%%\n' + each(n, 'void f{}(void) {{ }}\n'.format)),
    'a chain of functions': lambda n: rules(
        '"a" NL { f0($self); }\n', '%{\n#include "nest.h"\n' + each(
            n, lambda i: f'void f{i}(struct nest_session *s);\n')
        + each(n, lambda i: f'void f{i}(struct nest_session *s) {{ f{i + 1}(s); }}\n') + '%}\n'),
    'functions with the session': lambda n: rules(
        '"a" NL { f0($self); }\n%%\n' + each(
            n, lambda i: f'void f{i}(struct server *s) {{ f{(i + 1) % n}(s); f{i // 2}(s); }}\n')),
    'start-up statements': lambda n: rules('"a" NL { }\n%%\n' + each(n, 'int v{0} = {0};\n'.format)),
    'braces': lambda n: action(nest(n, '{ ', ';', ' }')),
    'unclosed braces': lambda n: action('{ ' * n),
    'parentheses': lambda n: action(f'int x = {nest(n, "(", "1", ")")};'),
    'unclosed parentheses': lambda n: action('f' + '(' * n + ';'),
    'conditions': lambda n: action(nest(n, 'if (a) { ', ';', ' }')),
    'conditions on states': lambda n: action(
        nest(n, 'if ($SEEN(S1)) { ', '$seen(S2);', ' }'), declared(9)),
    'choices': lambda n: action(each(n, lambda i: f'if (a == {i}) b = {i}; else ') + ';'),
    'choices on states': lambda n: action(
        each(n, lambda i: f'if (a == {i}) $seen(S{i % 9}); '), declared(9)),
    'many choices on states': lambda n: action(
        each(n, lambda i: f'if (a == {i}) $seen(S{i % 60}); else $clear(S{i * 7 % 60}); '), declared(60)),
    'loops': lambda n: action(nest(n, 'for (;;) { ', 'break;', ' }')),
    'while loops': lambda n: action(nest(n, 'while (a) ', '$reply($1);', '')),
    'do loops': lambda n: action(nest(n, 'do { ', ';', ' } while (a);')),
    'loops one after the other': lambda n: action(
        each(n, lambda i: f'while (a) {{ $seen(S{i % 9}); }} '), declared(9)),
    'switches': lambda n: action(nest(n, 'switch (a) { case 1: ', ';', ' }')),
    'cases': lambda n: action(f'switch (a) {{ {each(n, "case {}: b++; ".format)} }}'),
    'cases on states': lambda n: action(
        f'switch (a) {{ {each(n, lambda i: f"case {i}: $seen(S{i % 9}); break; ")} }}', declared(9)),
    'labels': lambda n: action(each(n, lambda i: f'l{i}: if (a) goto l{(i + 1) % n}; ')),
    'labels and states': lambda n: action(
        each(n, lambda i: f'l{i}: $seen(S{i % 9}); if (a) goto l{(i * 7) % n}; '), declared(9)),
    'statements': lambda n: action('a = b + c; ' * n),
    'locals of an action': lambda n: action(each(n, 'int v{0} = {0}; '.format)),
    'locals from the client': lambda n: action(
        'const char *v0 = $1; ' + each(n, lambda i: f'const char *v{i + 1} = v{i}; ')
        + f'$reply(v{n});'),
    'buffers': lambda n: action(each(n, lambda i: f'char v{i}[99]; strcpy(v{i}, $1); ')),
    'directives': lambda n: action('$reply("ok\\n"); ' * n),
    'nested directives': lambda n: action(nest(n, '$reply(', '"a"', ');')),
    'unclosed directives': lambda n: action('$reply(' * n),
    'wrong directives': lambda n: action(each(n, '$replay{}(); '.format)),
    'parts': lambda n: action('f($1); ' * n),
    'parts that are not there': lambda n: action('f($9); ' * n),
    'a long format': lambda n: action(f'$reply("{"%s %d " * n}"{", $1, 1" * n});'),
    'blocks': lambda n: action('$block { a(); } ' * n),
    'nested blocks': lambda n: action(nest(n, '$block { ', 'a();', ' }')),
    'unclosed blocks': lambda n: action('$block { ' * n),
    'states in one directive': lambda n: action(
        f'$seen({each(n, lambda i: f"S{i % 9}", ", ")});', declared(9)),
    'undeclared states in directives': lambda n: action(each(n, '$seen(T{}); '.format), declared(9)),
    'expressions': lambda n: action(f'a = {"b + " * n} c;'),
    'assignments': lambda n: action(f'{"a = " * n} c;'),
    'choices in expressions': lambda n: action(f'x = {"a ? b : " * n} c;'),
    'logic on states': lambda n: action(f'if ({"$SEEN(S1) || a && " * n} b) $seen(S2);', declared(9)),
    'calls in calls': lambda n: action(nest(n, 'f(', 'a', ')') + ';'),
    'commas': lambda n: action(f'a{", a" * n};'),
    'subscripts': lambda n: action(f'{nest(n, "a[", "1", "]")} = 1;'),
    'casts': lambda n: action(f'a = {"(int)" * n} 1;'),
    'sizeof': lambda n: action(f'a = {"sizeof " * n} 1;'),
    'strings': lambda n: action(f'f({chr(34) + "abc" + chr(34) + " "} ' * 1 + '"abc" ' * n + ');'),
    'unclosed strings in C': lambda n: action('f("abc);\n' * n),
    'preprocessor conditions': lambda n: action(nest(n, '\n#if A\n', ';', '\n#endif\n')),
    'unclosed preprocessor conditions': lambda n: action('\n#if A\n' * n),
    'preprocessor conditions of variables': lambda n: rules(
        nest(n, '#if A\n', 'int x;\n', '#endif\n') + '"a" NL { }\n'),
    'spliced lines': lambda n: action('a = \\\n b; ' * n),
    'comments in C': lambda n: action('/* a comment */ // another\n' * n),
    'stars': lambda n: action('*' * n),
    'commas and braces': lambda n: action('},{' * n),
    'many actions with one loop': lambda n: rules(
        each(n, lambda i: f'"{i}" NL {{ for (int i = 0; i < 9; i++) $reply("%d", i); }}\n')),
    'many moves': lambda n: rules(
        each(n, lambda i: f'S{i % 60}: "{i}" NL {{ if (a) $next(S{i * 7 % 60}); }}\n'), declared(60)),
    'many sets': lambda n: rules(
        each(n, lambda i: f'"{i}" NL {{ $seen(S{i % 60}); }}\n')
        + each(60, lambda i: f'S{i}: "x{i}" NL {{ }}\n'), declared(60)),
}

ALL = {**DECLARATIONS, **PATTERNS, **ACTIONS}
