"""Meta commands: conversations whose answers are compared, line by line, and commands drawn from a seed.

A step of a conversation may contain {c}, {c-1} and {c+9}: the version that was seen last, an older and a newer
one. Must not know: how the servers work.
"""

import base64
import re
from support.nest import Failed
from support.server import Client

KEY = 'k' * 250
KANA = '44OG44K544OI'                   # "tesuto" in katakana
FLAGS = ['q', 'k', 'v', 's', 't', 'c', 'f', 'h', 'u', 'Oo', 'l', 'P', 'Lx']
END = b'Oend-of-step\r\n'              # no other answer contains it

# What every row begins with is an empty cache. A value follows its command in the same step.
ROWS = {
    'nothing': ['mn\r\n', 'mn what ever\r\n', ' mn\n', 'mnx\r\n', 'm\r\n', 'mz a\r\n', 'MG a\r\n'],
    'get': ['mg a\r\n', 'mg a v\r\n', 'mg a k Oxy q\r\n', 'mg a k Oxy\r\n', 'ms a 3 T100 F9\r\nabc\r\n', 'mg a\r\n',
            'mg a v\r\n', 'mg a s v k f t c h l Oxy q\r\n', 'mg a Oxy l h c t f k v s\r\n', 'mg a P Lxy v\r\n',
            'mg  a   v  \r\n', 'mg a v\n', 'set b 4294967295 0 0\r\n\r\n', 'mg b f s v t\r\n', 'get a b\r\n'],
    'get: what is wrong': [
        'mg\r\n', 'mg \r\n', f'mg {KEY}k\r\n', f'mg {KEY} k\r\n', 'mg a x\r\n', 'mg a v v\r\n', 'mg a E9\r\n',
        'mg a S9\r\n', 'mg a N\r\n', 'mg a Nx\r\n', 'mg a T\r\n', 'mg a Rx\r\n', 'mg a T1x\r\n', 'mg a Fx\r\n',
        'mg a C\r\n', 'mg a C-1\r\n', 'mg a C18446744073709551616\r\n', 'mg a M\r\n', 'mg a MEE\r\n', 'mg a Jx\r\n',
        'mg a D\r\n', 'mg a Fx Nx\r\n', 'mg a Nx Fx\r\n', 'mg a Nx MM2 q\r\n', 'mg a Nx x\r\n', 'mg a Fx v v\r\n',
        'mg a \x7f\r\n', 'mg a ~\r\n', 'mg a O' + 'o' * 31 + '\r\n', 'mg a q O' + 'o' * 32 + '\r\n',
        'mg a N0 s O' + 'o' * 32 + '\r\n', 'mg a t h\r\n', 'mg a O' + 'o' * 32 + ' T90\r\n', 'mg a t h\r\n',
        'mg a l T90 O' + 'o' * 32 + '\r\n', 'mg a t h\r\n',
        'mg a' + ' v' * 17 + '\r\n', 'mg a' + ' v' * 18 + '\r\n', 'mg a' + ' v' * 400 + '\r\n',
        'mg a q k v s t c f h l u O P L b x y z\r\n', 'mg a q k v s t c f h l u O P L b N0 R0 T0\r\n'],
    'numbers': ['ms a 1 T4294967297 F-18446744073709551615\r\n1\r\n', 'mg a f t\r\n',
                'ms a 1 F18446744073709551615\r\n1\r\n', 'mg a f\r\n', 'ms a 1 F4294967301\r\n1\r\n', 'mg a f\r\n',
                'ms a 1 F-1\r\n1\r\n', 'ms a 1 F+7\t9\r\n1\r\n', 'mg a f\r\n', 'ms a 1 T9223372036854775808\r\n1\r\n',
                'ms a 4294967297\r\n2\r\n', 'mg a v\r\n', 'ms a +1\r\n3\r\n', 'mg a v\r\n', 'ma a D+2 v\r\n',
                'ma a D18446744073709551615 v\r\n', 'ma a D18446744073709551616 v\r\n', 'ma a D-18446744073709551615 v\r\n',
                'ma a D-1 v\r\n', 'ma a D\x0b1\x0b9 v\r\n'],
    'bytes': ['ms a\rb 1\r\nx\r\n', 'mg a\rb k v\r\n', 'mg a\rb v\r\r\n', 'mg a\0b v\r\n', 'mg a v\0 x\r\n', 'mg\0 a\r\n',
              'mn\0\r\n', 'mn\r\r\n', 'md\tb\r\n', 'ms a\tb 1\r\nx\r\n', 'mg a\tb k v\r\n', 'ms a 2 \xff\r\nxy\r\n',
              'ms a 4\r\n\0\r\n\xff\r\n', 'mg a v\r\n'],
    'times': ['ms a 1 T100\r\nx\r\n', 'mg a t T200 t\r\n', 'mg a T0 t\r\n', 'mg a t T2147483000\r\n', 'mg a t T-1 t\r\n',
              'mg a t\r\n', 'ms a 1 T-1\r\nx\r\n', 'mg a\r\n', 'ms a 1 T2592000\r\nx\r\n', 'mg a t\r\n',
              'ms a 1 T2592001\r\nx\r\n', 'mg a t\r\n', 'ms a 1\r\nx\r\n', 'mg a T2592001 t R2592002\r\n', 'mg a\r\n',
              'ms a 1\r\nx\r\n', 'mg a T-1 R2592001 t\r\n', 'mg a\r\n', 'ms a 1\r\nx\r\n', 'mg a R100\r\n'],
    'renewal': ['mg a s c v N30 t\r\n', 'mg a s t v N30\r\n', 'ms a 2 C{c+9} T120 c k\r\nno\r\n',
                'ms a 2 C{c} T120 c Oo\r\nmu\r\n', 'mg a s t v N30\r\n', 'mg a t R130 N30\r\n', 'mg a R130 v\r\n',
                'mg a T30 R31 t\r\n', 'ms a 3 T300\r\nnew\r\n', 'mg a R200\r\n', 'mg a R400 T500\r\n',
                'ms a 3 T300\r\nnew\r\n', 'mg a T500 R400\r\n', 'mg a R0\r\n', 'mg a R-1\r\n', 'mg b N0 t q\r\n',
                'mg b N0 q\r\n', 'mg d t N60 t T90 t\r\n', 'mg d t\r\n', 'mg e N-1 t\r\n', 'mg e N5 k Oz v s f h\r\n'],
    'invalid': ['ms a 3 T90 F4\r\nmoo\r\n', 'mg a h h2\r\n', 'mg a h\r\n', 'md a I T30\r\n', 'mg a t s c v f\r\n',
                'mg a t v q\r\n', 'ms a 1 T90 C0 I\r\nf\r\n', 'ms a 1 I T90 C1 c F5\r\nf\r\n', 'mg a t s c v f h\r\n',
                'ms a 1 I C{c+9}\r\nx\r\n', 'ms a 1 I T90 C{c}\r\ng\r\n', 'mg a t s v f h\r\n', 'md a I\r\n',
                'ms a 1 I C1\r\nh\r\n', 'mg a v t\r\n', 'mg a v t\r\n', 'md a I\r\n', 'mg a v t\r\n',
                'ms a 1 I C1\r\ni\r\n', 'mg a v\r\n', 'append a 0 0 1\r\nj\r\n', 'mg a v t\r\n', 'md a I\r\n',
                'ms a 1 I\r\nx\r\n', 'mg a v\r\n', 'ms a 1 I MA C1\r\nx\r\n', 'md a I\r\n', 'touch a 10\r\n', 'gat 20 a\r\n',
                'incr a 1\r\n', 'mg a v\r\n', 'ms n 1\r\n5\r\n', 'md n I T60\r\n', 'incr n 1\r\n', 'mg n v t\r\n',
                'ma n D90 v\r\n', 'mg n v t\r\n', 'md b I\r\n', 'md b I q\r\n'],
    'set': ['ms a 2 ME k c Oxy\r\nbb\r\n', 'ms a 2 ME c k\r\ncc\r\n', 'ms a 2 MA T120 F3 k\r\ncc\r\n', 'ms a 2 MP Oo\r\naa\r\n',
            'mg a s v t f\r\n', 'ms b 1 MR\r\nx\r\n', 'ms b 1 MA q\r\nx\r\n', 'ms b 1 MP q k\r\nx\r\n',
            'ms a 1 MR q T90\r\nr\r\n', 'mg a v t c\r\n', 'ms a 1 MS q\r\ns\r\n', 'mg a v c\r\n', 'ms a 1 MR C{c}\r\nt\r\n',
            'mg a v\r\n', 'ms b 1 MR C1\r\nt\r\n', 'ms b 1 C7 q c\r\nt\r\n', 'ms b 1 C0\r\nt\r\n', 'ms b 1 ME C1 c\r\nt\r\n',
            'mg a c\r\n', 'ms a 1 MA C{c}\r\nu\r\n', 'mg a v\r\n', 'ms a 1 MP C{c} c\r\nu\r\n', 'ms a 1 MP C{c-1} c\r\nu\r\n',
            'mg a v\r\n', 'ms a 0\r\n\r\n', 'mg a s v\r\n', 'mg a v\r\n', 'ms a 1 v h l s t f u J9 D9 N9 R9\r\nx\r\n', 'mg a v\r\n',
            f'ms {KEY} 1 k c b\r\nx\r\n', f'ms {KEY} 1 k\r\nx\r\n', f'mg {KEY} k v\r\n', 'mg a O' + 'c' * 31 + '\r\n',
            'ms a 1 O' + 'ck' * 15 + 'c k c\r\nx\r\n'],
    'set: what is wrong': [
        'ms\r\n', 'ms a\r\n', 'ms a b\r\n', 'ms a -1\r\n', 'ms a 2147483646\r\n', 'ms a 2147483647\r\n', 'ms a 1x\r\n',
        f'ms {KEY}k 1\r\n', 'ms a 1 S1\r\nx\r\n', 'ms a 1 v v\r\nx\r\n', 'ms a 1 MZ\r\nx\r\n', 'ms a 1 MI\r\nx\r\n',
        'ms a 1 M\r\nx\r\n', 'ms a 1 Cx\r\nx\r\n', 'ms a 1 Fx\r\nx\r\n', 'ms a 1 Tx q\r\nx\r\n', 'ms a 1 b\r\nx\r\n',
        'ms a 1 O' + 'o' * 32 + '\r\nx\r\n', 'ms a 1 q O' + 'o' * 32 + ' MZ\r\nx\r\n', 'ms a 3\r\nabcd\r\n',
        'ms a 3 q\r\nabcd\r\n', 'ms a 3\r\nab\r\n\r\n', 'ms a 1' + ' v' * 16 + '\r\nx\r\n', 'ms a 1' + ' v' * 17 + '\r\nx\r\n',
        'mg a\r\n', 'ms a 1\r\nx\r\n', 'ms a 2000000 q k\r\n' + 'v' * 2000000 + '\r\n', 'mg a v\r\n',
        'ms a 1\r\nx\r\n', 'ms a 2000000 MA\r\n' + 'v' * 2000000 + '\r\n', 'mg a v\r\n',
        'ms a 1\r\nx\r\n', 'ms a 2000000 Tx\r\n' + 'v' * 2000000 + '\r\n', 'mg a v\r\n'],
    'delete': ['md a\r\n', 'md a q\r\n', 'md a k Oo q\r\n', 'ms a 1\r\nx\r\n', 'md a k Oo\r\n', 'ms a 1\r\nx\r\n', 'md a q\r\n',
               'mg a\r\n', 'ms a 1\r\nx\r\n', 'mg a c\r\n', 'md a C{c+9} q k\r\n', 'md a C0\r\n', 'md a C{c-1} I\r\n',
               'md a C{c} I q T50\r\n', 'mg a t c\r\n', 'md a T10 C{c}\r\n', 'mg a\r\n', 'ms a 1\r\nx\r\n', 'md a v s h M9\r\n',
               'md\r\n', f'md {KEY}k\r\n', 'md a x\r\n', 'md a v v\r\n', 'md a Tx\r\n', 'md a Cx q\r\n',
               'md a O' + 'o' * 32 + '\r\n', 'md a' + ' v' * 17 + '\r\n', 'md a' + ' v' * 18 + '\r\n', 'md a b\r\n',
               'md a I b\r\n'],
    'arithmetic': ['ma a\r\n', 'ma a q\r\n', 'ma a k Oo D1\r\n', 'ma a N90 q\r\n', 'mg a v t s\r\n', 'ma a v t T300 t k Oo\r\n',
                   'mg a v t\r\n', 'ma b N0 J13 v t\r\n', 'ma b N60 J13 v t\r\n', 'ma b v D30\r\n', 'ma b MD D22 v\r\n',
                   'ma b M- D9000 v\r\n', 'mg b v\r\n', 'ma b MI v\r\n', 'ma b M+ v\r\n', 'ma b v q\r\n', 'ma b q\r\n',
                   'ma d t N60 t J18446744073709551615 v\r\n', 'ma d v\r\n', 'mg d v t\r\n', 'ma d M- v\r\n',
                   'ms e 1 T90 F5\r\n9\r\n', 'ma e T500 t v c\r\n', 'mg e v t f c\r\n', 'ma e C{c+9} v k q\r\n',
                   'ma e C{c} v c\r\n', 'ma e C0 v\r\n', 'mg e v h\r\n', 'ma e v T20 t\r\n', 'mg e v t h\r\n',
                   'ma f MD\r\n', 'ma f MD N0 J7 v\r\n', 'ms g 2\r\n12\r\n', 'ma g T600 t v\r\n', 'mg g v t\r\n',
                   'ma h t T9 N60 v\r\n', 'mg h t\r\n', 'ma h T-1 t v\r\n', 'mg h\r\n'],
    'arithmetic: what is wrong': [
        'ms a 1\r\nx\r\n', 'ma a\r\n', 'ma a q\r\n', 'ma a C1\r\n', 'ms a 0\r\n\r\n', 'ma a C1\r\n', 'ms a 20\r\n18446744073709551616\r\n',
        'ma a v\r\n', 'ma\r\n', f'ma {KEY}k\r\n', 'ma b MZ\r\n', 'ma b MII\r\n', 'ma b ME q\r\n', 'ma b Jx\r\n', 'ma b D-1\r\n',
        'ma b x\r\n', 'ma b v v\r\n', 'ma b N0 O' + 'o' * 32 + '\r\n', 'mg b v\r\n', 'ma b q O' + 'o' * 32 + '\r\n', 'mg b v\r\n',
        'ma b T50 O' + 'o' * 32 + ' T50\r\n', 'ma b T50 O' + 'o' * 32 + '\r\n', 'mg b v t\r\n', 'ma z q O' + 'o' * 32 + '\r\n',
        'ma b' + ' v' * 17 + '\r\n', 'ma b' + ' v' * 18 + '\r\n', 'ma b b\r\n'],
    'base64': [
        f'ms {KANA} 2 b k c\r\npo\r\n', f'mg {KANA} v\r\n', f'mg {KANA} b v k\r\n', f'mg {KANA} k b Oo\r\n', f'me {KANA} b\r\n',
        f'me {KANA}\r\n', f'me {KANA} b x\r\n', f'ma {KANA} b\r\n', f'ma {KANA}AA b N0 k v\r\n', 'ma a b N0\r\n',
        'ma YQ== b N0 k\r\n', 'mg a k v\r\n', 'mg YQ== b k v\r\n', 'ma YQ== b k v\r\n', 'mg Yg== b N0 k\r\n', 'mg Yg== b k\r\n',
        'me Yg== b\r\n', 'mg c b\r\n', 'mg YWI= b k\r\n', 'ms YWI= 1 b k\r\n1\r\n', 'mg YWI= b k\r\n', 'mg ab k v\r\n',
        'incr ab 1\r\n', 'mg YWI= b k v\r\n', 'incr ab 10\r\n', 'mg YWI= b k v\r\n', 'ms YWI= 1 b k\r\n1\r\n',
        'ms YWI= 1 b k MA\r\n2\r\n', 'mg YWI= b k v\r\n', 'ms YWI= 1 b k\r\n1\r\n', 'md YWI= b k I\r\n', 'md YWI= b k q\r\n',
        'md YWI= b k\r\n', 'ms Y-W_I= 1 b k\r\n1\r\n', 'mg YWI= b k v\r\n', 'ms YWI=ZZZZ 1 b k\r\n2\r\n', 'mg ab k v\r\n',
        'ms A=== 1 b\r\n1\r\n', 'ms ==== 1 b\r\n1\r\n', 'ms =A== 1 b\r\n1\r\n', 'ms A=B= 1 b k\r\n1\r\n', 'ms =AAA 1 b k\r\n1\r\n',
        'ms AAA=A 1 b k\r\n1\r\n', 'ms - 1 b\r\n1\r\n', 'ms AB=C 1 b k\r\n1\r\n', 'me ==== b\r\n', 'me - b\r\n',
        'mg = b\r\n', 'md === b\r\n', f'ms {"A" * 250} 1 b k\r\n1\r\n', f'ms {"A" * 248} 1 b k\r\n1\r\n', f'mg {"A" * 248} b k v\r\n',
        f'ms {"A" * 252} 1 b k\r\n1\r\n', f'me {"A" * 248} b\r\n',
        f'ms {base64.b64encode(bytes(range(180))).decode()} 1 b k\r\n1\r\n',
        f'mg {base64.b64encode(bytes(range(180))).decode()} b k v\r\n', 'ms a 1 b b\r\n1\r\n', 'mg - b Nx\r\n', 'mg - Nx b\r\n'],
    'describe': ['me\r\n', 'me a\r\n', f'me {KEY}k\r\n', f'me {KEY}\r\n', 'ms a 3\r\nabc\r\n', 'me a\r\n', 'mg a\r\n', 'me a\r\n',
                 'ms a 3 T500 F5\r\nabc\r\n', 'me a x y z z z z z z z z z z z z z z z z z z z z z z z z\r\n', 'me a bb\r\n',
                 'mg a h\r\n', 'mg a u h\r\n', 'ms a 1\r\nx\r\n', 'mg a u h\r\n', 'mg a h\r\n', 'mg a u h\r\n', 'get a\r\n',
                 'me a\r\n', 'set a 0 0 1\r\nx\r\n', 'gat 0 a\r\n', 'me a\r\n', 'set a 0 0 1\r\n1\r\n', 'touch a 100\r\n', 'me a\r\n',
                 'set a 0 0 1\r\n1\r\n', 'incr a 1\r\n', 'me a\r\n', 'ma a\r\n', 'me a\r\n', 'mg a\r\n', 'incr a 1\r\n', 'me a\r\n',
                 'incr a 100\r\n', 'me a\r\n', 'add a 0 0 1\r\nx\r\n', 'me a\r\n'],
    'quiet': ['ms a 2 q\r\nmo\r\nmd a q\r\nmg a s v q\r\n', 'ms a\r\n', 'ms a 2 q\r\nbo\r\nmg a v q\r\nmg a v q\r\nmg b v q\r\n',
              'mg b q\r\nmg\r\nmg b\r\n', 'mg b q\r\nget\r\nnothing\r\n', 'ms a x q\r\nms a 1 q\r\nxy\r\nmg b q\r\n',
              'md b q\r\nma b q\r\nms b 1 MR q\r\nx\r\nms a 1 C1 q\r\nx\r\n', 'mg b q q\r\nmd b q x\r\nma b q MZ\r\nms b 1 q MZ\r\nx\r\n',
              'set a 0 0 1 noreply\r\n1\r\nma a q\r\nma a v\r\nincr a 1 noreply\r\nmg a v q\r\n', 'mg b q k Oo\r\nmg b k Oo\r\n',
              'ms a 1 q\r\nxx\r\nmn\r\n', 'me b q\r\n'],
    'stats': ['stats reset\r\n', 'ms a 1\r\n1\r\nmg a\r\nmg a T9\r\nmg b\r\nmg b T9\r\nmg b N0\r\n',
              'ma a\r\nma a MD\r\nma d\r\nma d MD\r\nma d N0\r\nma d MD\r\nmd a C99999999999\r\nmd a I\r\nmd a\r\nmd a\r\nms d 1 C99999999999\r\n1\r\nms q 1 C1\r\n1\r\n',
              'mg d c\r\n', 'ms d 1 C{c}\r\n1\r\n', 'ms a 2000000\r\n' + 'v' * 2000000 + '\r\n', 'stats\r\n', 'stats detail on\r\n',
              'ms x:a 1\r\n1\r\nmg x:a\r\nmd x:a\r\n', 'stats detail dump\r\nstats detail off\r\n'],
    'large': ['ms a 5000 T90 k\r\n' + 'v' * 5000 + '\r\n', 'mg a v s t\r\n', 'mg a s\r\n', 'mg a v q k Oo\r\n', 'ms a 1022\r\n' + 'w' * 1022 + '\r\n',
              'mg a v\r\n', 'ms a 1023 MA\r\n' + 'x' * 1023 + '\r\n', 'mg a v\r\n', 'ms b 1000000 q\r\n' + 'y' * 1000000 + '\r\nmg b s v q\r\n'],
}
COUNTED = {'cmd_get', 'cmd_set', 'cmd_touch', 'get_hits', 'get_misses', 'delete_misses', 'delete_hits', 'incr_misses',
           'incr_hits', 'decr_misses', 'decr_hits', 'cas_misses', 'cas_hits', 'cas_badval', 'touch_hits', 'touch_misses',
           'store_too_large', 'total_items'}


def plain(text, seen):
    """Answers without what differs from server to server, or from second to second: versions are numbered as they
    are seen; times are rounded; an item has its size in each server."""
    def version(found):
        number = int(found[2])
        return found[1] + (b'0' if number == 0 else b'#%d' % seen.setdefault(number, len(seen) + 1))

    def time(found):
        number = abs(int(found[2]))
        return found[1] + (found[2] if found[2] == b'-1' else b'wrapped' if number >= 1 << 31 else
                           b'date' if number > 10 ** 8 else b'%d' % -(-number // 20 * 20))

    def line(found):
        words = re.sub(rb'( c)([0-9]+)(?= |$)', version, found[0])
        words = re.sub(rb'( t)(-?[0-9]+)(?= |$)', time, words)
        words = re.sub(rb'( l)[012](?= |$)', rb'\1~', words)
        words = re.sub(rb'( cas=)([0-9]+)', version, words)
        words = re.sub(rb'( exp=)(-?[0-9]+)', time, words)
        return re.sub(rb' la=[012] (.*) cls=[0-9]+ size=[0-9]+$', rb' la=~ \1', words)
    return re.sub(rb'^(HD|VA|EN|EX|NF|NS|ME)( .*?)?(?=\r?$)', line, text, flags=re.MULTILINE)


def _asked(client, text):
    """The answer to a step."""
    client.send(text + b'mg none ' + END)
    got = b''
    while not got.endswith(END):
        more = client.socket.recv(1 << 16)
        if not more:
            return got + b'(the connection ends)'
        got += more
    return got[:-len(b'EN ' + END)]


def played(server, steps):
    """[(step, answer)] of a row."""
    seen, last, pairs = {}, 1, []
    with Client(server) as client:
        _asked(client, b'flush_all\r\n' + b'set z 0 0 0\r\n\r\n' * 12 + b'flush_all\r\nstats detail off\r\n')
        for step in steps:
            def near(found):
                return str(last + int(found[1] or '0'))             # pylint: disable=cell-var-from-loop
            text = re.sub(r'\{c([+-][0-9]+)?\}', near, step).encode('latin-1')
            got = _asked(client, text)
            for number in re.findall(rb'^(?:HD|VA|EX)(?: .*)? c([0-9]+)(?= |\r)', got, re.MULTILINE):
                last = int(number) or last
            if step == 'stats\r\n':
                got = b'\n'.join(sorted(b'%s %s' % pair for pair in re.findall(rb'STAT (\w+) (\S+)', got)
                                        if pair[0].decode() in COUNTED))
            pairs.append((step[:200], plain(got, seen)))
    return pairs


def compare(server, reference):
    """meta commands are answered as by memcached, conversation by conversation"""
    # A busy machine may need several seconds for a row, and memcached's own threads may look at an item.
    for name, steps in ROWS.items():
        for attempts in (2, 1, 0):
            ours, theirs = played(server, steps), played(reference, steps)
            wrong = next(((step, our, their) for (step, our), (_, their) in zip(ours, theirs) if our != their), None)
            if wrong is None:
                break
            if attempts == 0:
                step, our, their = wrong
                raise Failed(f'{name}: {step!r}\nhere: {our[:400]!r}\nmemcached: {their[:400]!r}')


# -- drawn commands --------------------------------------------------------------------------------


def _key(draw, keys):
    """The key, and the flag that it needs."""
    key = draw.choice(keys)
    if draw.randrange(5):
        return key, []
    text = base64.b64encode(key.encode()).decode()
    return (text, ['b']) if len(text) <= 250 else (key, [])


def one(draw, keys, value):
    """A meta command: mostly sound. No flag T with `ma`: it depends on whether a number becomes longer, and that on
    whether memcached's own threads look at the item."""
    if draw.randrange(12) == 0:     # any characters; nothing that waits for a value, no time and no version
        junk = ''.join(draw.choice('  abkvscNOMDI=019-+q%\0\r\t\x7f\xff') for _ in range(draw.randrange(60)))
        return [f'm{draw.choice("gdaen")}', junk], b''
    key, flags = _key(draw, keys)
    flags += draw.sample(FLAGS, draw.randrange(5))
    behind, verb = b'', draw.choice(['mg', 'mg', 'ms', 'ms', 'md', 'ma', 'me', 'mn'])
    some = {'mg': ['N30', 'R200', 'T100', 'T-1', 'R-1'],
            'ms': ['T100', 'F5', 'ME', 'MA', 'MP', 'MR', 'MS', 'MZ', 'C0', 'C1', 'I', 'T-1'],
            'md': ['I', 'C0', 'C1', 'T100', 'x'], 'ma': ['N0', 'J9', 'D2', 'MD', 'M+', 'MI', 'C1', 'Jx'],
            'me': [], 'mn': []}[verb]
    for flag in draw.sample(some, min(len(some), draw.choice([0, 1, 1, 2, 3]))):
        if draw.randrange(12) == 0 or flag[0] not in [other[0] for other in flags]:
            flags.append(flag)
    draw.shuffle(flags)
    if verb == 'me':
        flags = [flag for flag in flags if flag == 'b'] + flags
    words = [verb, key] if verb != 'mn' else [verb]
    if verb == 'ms':
        given = value(draw)
        behind = given + b'\r\n'
        words.append(str(len(given)) if draw.randrange(15) else draw.choice(['x', '-1', str(len(given) + 1)]))
    return words + flags, behind
