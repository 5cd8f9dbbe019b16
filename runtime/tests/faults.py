"""Lets every allocation fail once, and checks that nothing crashes or leaks, and every conversation ends once."""

import re
import sys

from harness import check, finish, quote, script

LINES = [
    "open 1", "open 2", "room 2 3",
    f"in 1 {quote(b'NAME bo')}", f"in 2 {quote(b'BIG 3000' + bytes([10]) + b'WHO' + bytes([10]))}",
    f"in 1 {quote(b'b' + bytes([10]) + b'KEEP 100' + bytes([10]) + b'SPLIT abc1.' + bytes([10]))}",
    f"in 1 {quote(b'FLOOD 100' + bytes([10]) + b'ECHO ' + b'x' * 6000)}",
    f"in 1 {quote(b'y' * 1000 + bytes([10]) + b'SPLIT ' + b'z' * 6000 + b'.' + bytes([10]))}",
    "room 2 -", "open 3", f"in 3 {quote(b'WHO' + bytes([10]))}", "eof 1", "reset 2",
    # reads: in pieces, of what is there, of much; an action that waits asks for its parts behind it
    "open 4", f"in 4 {quote(b'READ 300' + bytes([10]) + b'12')}", f"in 4 {quote(b'3' * 298 + b'LI')}",
    f"in 4 {quote(b'NE 20' + bytes([13, 10]) + b'a line')}", f"in 4 {quote(bytes([13, 10]) + b'INTO 4')}",
    f"in 4 {quote(bytes([10]) + b'1234INTO 6000' + bytes([10]) + b'i' * 1000)}",
    f"in 4 {quote(b'i' * 5000 + b'SKIP 9000' + bytes([10]))}", f"in 4 {quote(b's' * 9000 + b'READ 8000')}",
    f"in 4 {quote(bytes([10]) + b'r' * 8000)}",
    # pauses and TIMEOUT rules
    f"in 4 {quote(b'LULL 900000' + bytes([10]) + b'NAP 50' + bytes([10]))}", "pass 50",
    f"in 4 {quote(b'HUSH' + bytes([10]) + b'W')}", "pass 300", f"in 4 {quote(b'TICK' + bytes([10]))}",
    "pass 1500", "drain",
]


def main():
    binary = f"{sys.argv[1]}/script-faults"
    count = 0

    def run(environment):
        return script(binary, LINES, "--set", "outputBuffer=1000", environment=environment)

    status, trace, whole, error = run({})
    check("without a fault", status, 0)
    check("all end", [t[-1] for t in trace.values()], ["closed"] * 4)
    total = int(re.search(r"allocations (\d+)", error).group(1))
    check("there are allocations to fail", total > 20, True)
    for at in range(1, total + 1):
        for every in ({}, {"FAULT_ALL": "1"}):
            status, trace, out, error = run({"FAULT_AT": str(at), **every})
            what = f"allocation {at} {every}"
            check(f"{what}: {error}", status in (0, 1, 2) and "runtime error" not in error
                  and "Sanitizer" not in error, True)
            for who, lines in trace.items():
                ends = sum(line.startswith("end ") for line in lines)
                opens = lines.count("open")
                # a trace or output line may itself lack memory; never may one come twice
                check(f"{what}, conversation {who}", ends <= 1 and opens <= 1, True)
            for who, text in out.items() if status == 0 else ():  # else the script lacked memory
                # it may end sooner, but nothing is left out; $keep says no
                text = text.split(b"bye: ")[0].replace(b"\nno\r", b"\nkept\r")
                check(f"{what}, output of {who}", whole[who].startswith(text), True)
            count += 1
    # a message that is there is answered from the reserve, whatever of it finds no memory; twice, so
    # that it has come back
    asked = [f"in 1 {quote(b'SPLIT abc1.' + bytes([10]))}", f"in 1 {quote(b'WHO' + bytes([10]))}"]
    whole = script(binary, ["open 1", *asked, *asked, "eof 1"])[2]
    for fail in (*(f"fail memory {at}" for at in range(1, 5)), "fail scarce 100"):
        status, trace, out, error = script(binary, [fail, "open 1", fail, *asked, fail, *asked, "eof 1"])
        check(f"{fail}: {error}", (status, out), (0, whole))
        count += 1
    finish("faults", count)


main()
