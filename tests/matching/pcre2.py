"""libpcre2, as far as the oracle needs it.

Must not know: rules, conversations.
"""

import ctypes
import ctypes.util

ANCHORED, NOTEMPTY, PARTIAL_HARD = 0x80000000, 0x4, 0x20
# What shortens the search may skip paths that cannot match but do touch the end of the subject.
NO_AUTO_POSSESS, NO_DOTSTAR_ANCHOR, NO_START_OPTIMIZE = 0x4000, 0x8000, 0x10000
NO_MATCH, PARTIAL, MATCH_LIMIT = -1, -2, -47
STEPS = 20000       # of libpcre2 for one call; nested loops can need any number


class GaveUp(Exception):
    """It needed too long for a verdict."""


class Absent(Exception):
    """This machine does not have the library."""


def _library():
    name = ctypes.util.find_library('pcre2-8') or 'libpcre2-8.so.0'
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise Absent(f'needs the library libpcre2-8: {error}') from error
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32
    for function, result, *arguments in (
            ('compile', pointer, ctypes.c_char_p, size, number, pointer, pointer, pointer),
            ('match_data_create_from_pattern', pointer, pointer, pointer),
            ('match_context_create', pointer, pointer),
            ('set_match_limit', ctypes.c_int, pointer, number),
            ('get_ovector_pointer', ctypes.POINTER(size), pointer),
            ('match', ctypes.c_int, pointer, ctypes.c_char_p, size, size, number, pointer, pointer),
            ('match_data_free', None, pointer),
            ('match_context_free', None, pointer),
            ('code_free', None, pointer)):
        found = getattr(library, f'pcre2_{function}_8')
        found.restype, found.argtypes = result, arguments
    return library


LIBRARY = None


class Regex:
    """A compiled pattern with memory for its results."""

    def __init__(self, text):
        global LIBRARY
        LIBRARY = LIBRARY or _library()
        error, offset = ctypes.c_int(), ctypes.c_size_t()
        options = NO_AUTO_POSSESS | NO_DOTSTAR_ANCHOR | NO_START_OPTIMIZE
        raw = text.encode('ascii')
        self.code = LIBRARY.pcre2_compile_8(raw, len(raw), options, ctypes.byref(error),
                                            ctypes.byref(offset), None)
        if not self.code:
            raise ValueError(f'libpcre2 refuses {text}: error {error.value} at {offset.value}')
        self.data = LIBRARY.pcre2_match_data_create_from_pattern_8(self.code, None)
        self.context = LIBRARY.pcre2_match_context_create_8(None)
        LIBRARY.pcre2_set_match_limit_8(self.context, STEPS)
        self.vector = LIBRARY.pcre2_get_ovector_pointer_8(self.data)

    def __del__(self):
        if getattr(self, 'code', None):
            LIBRARY.pcre2_match_context_free_8(self.context)
            LIBRARY.pcre2_match_data_free_8(self.data)
            LIBRARY.pcre2_code_free_8(self.code)

    def _run(self, subject, length, options):
        result = LIBRARY.pcre2_match_8(self.code, subject, length, 0, ANCHORED | NOTEMPTY | options,
                                       self.data, self.context)
        if result == MATCH_LIMIT:
            raise GaveUp
        if result < 0 and result not in (NO_MATCH, PARTIAL):
            raise OSError(f'libpcre2 fails with {result}')
        return result

    def accepts(self, subject, length):
        """Whether the preferred match of the first `length` bytes takes all of them."""
        return self._run(subject, length, 0) > 0 and self.vector[1] == length

    def live(self, subject, length):
        """Whether a path wants to look behind the first `length` bytes before any matches."""
        return self._run(subject, length, PARTIAL_HARD) == PARTIAL

    def groups(self, subject, count):
        """What each group of the preferred match of all of `subject` took."""
        self._run(subject, len(subject), 0)
        return [subject[self.vector[2 * i]:self.vector[2 * i + 1]] for i in range(1, count + 1)]

    def bytes(self):
        """The bytes that it matches, one alone."""
        return bytes(b for b in range(256) if self.accepts(bytes([b]), 1))
