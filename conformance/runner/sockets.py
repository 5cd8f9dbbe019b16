"""The socket cells: a real server, real clients, the standard loads. The trace must be that of the
case.

Connections are distinguished only by their traces: a load passes if every expected trace exists as
often as expected. Must not know: how the server was built.
"""

import threading
from . import timeouts, trace, variants
from .case import MOST
from .client import Client, ClientError, Hung, converse, short
from .process import Server, ServerError, Silent

CROWD = 16
CUTS = 4
SETTLE = 15      # seconds for the server's END actions after the last client has left


def run(case, binary, kinds, quick=False):
    """Runs one case against one server. Returns [(cell, None or error)]. `kinds`: listeners.
    `quick`: the conversation once, without splits, on the first listener."""
    if quick:
        kind = kinds[0]
        return _with_server(case, binary, [kind], MOST, [
            (kind, lambda server: _one(case, server, kind, case.talk, sync=not case.cuts))])
    first = kinds[0]
    if case.stops() is not None or case.reloads():      # one server per conversation
        results = []
        for kind in kinds:
            results += _with_server(case, binary, [kind], MOST, [
                (kind, lambda server, kind=kind: _one(case, server, kind, case.talk))])
        if case.reloads() or not case.crowd or hung(results):
            return results
        return results + _with_server(case, binary, [first], MOST, [
            ('crowd', lambda server: _crowd(case, server, first))])
    results = _with_server(case, binary, kinds, MOST, [
        (kind, lambda server, kind=kind: _listener(case, server, kind)) for kind in kinds])
    if not case.crowd or hung(results):
        return results
    loads = [('crowd', lambda server: _crowd(case, server, first)),
             ('bystanders', lambda server: _bystanders(case, server, first))]
    if case.held():             # an incomplete message never comes to the server
        loads.pop()
    results += _with_server(case, binary, [first], MOST, loads)
    if hung(results):
        return results
    few = len(case.clients())
    results += _with_server(case, binary, [first], few, [
        ('limit+1', lambda server: _sequence(case, server, first, few + 1))])
    return results


def hung(results):
    """Whether a wait timed out. Further cells would time out too."""
    return any(isinstance(wrong, timeouts.Hung) for _, wrong in results)


def _with_server(case, binary, kinds, most, cells):
    """Runs cells against one server. If the server fails, its last cell fails too."""
    results = []
    try:
        server = Server(case, binary, kinds, most)
    except Silent as error:
        return [(name, timeouts.Hung(error)) for name, _ in cells[:1]]
    except ServerError as error:
        return [(name, str(error)) for name, _ in cells]
    try:
        for name, cell in cells:
            try:
                wrong = cell(server)
            except (Hung, Silent) as error:
                wrong = timeouts.Hung(error)
            except (ClientError, ServerError, ValueError, OSError) as error:
                wrong = str(error)
            results.append((name, wrong))
            if hung(results):
                said = server.said(500).strip()
                server.kill()
                return results[:-1] + [(name, timeouts.Hung(f'{wrong}\n{said}'.rstrip()))]
            if wrong and not server.alive():
                break
    except BaseException:
        server.kill()
        raise
    unwell = server.stop()
    if unwell:
        name, wrong = results[-1]
        results[-1] = (name, type(unwell)(f'{wrong}\n{unwell}') if wrong else unwell)
    done = len(results)
    return results + [(name, 'not run: the server had ended') for name, _ in cells[done:]]


def _listener(case, server, kind):
    """Runs the conversation without splits, then a sample of splits, one after another."""
    talks = [('whole', case.talk)]
    if case.cuts and case.passes() == 0:    # otherwise only in script, where no load disturbs the time
        talks += list(variants.some_of(case.talk, CUTS))
    for label, talk in talks:
        wrong = _one(case, server, kind, talk, sync=label != 'whole' or not case.cuts)
        if wrong:
            return type(wrong)(f'{label}: {wrong}')
    return None


def _one(case, server, kind, talk, sync=False):
    """Runs one conversation on a server of its own. Returns None or an error."""
    before = set(server.traces(0, 0))
    try:
        received = converse(case, talk, kind, server.addresses[kind], sync and not case.held(), server.tell)
    except ClientError as error:
        new = _fresh(server, before, len(case.clients()), 1)
        if talk is case.talk:
            case.hear(new.values())
        shown = [trace.show(line, 160) for lines in new.values() for line in lines][-8:]
        said = '\n  '.join([str(error), 'the trace so far ends with:', *shown])
        return timeouts.Hung(said) if isinstance(error, Hung) else said
    new = _fresh(server, before, len(case.clients()), min(SETTLE, timeouts.seconds()))
    if talk is case.talk:
        case.hear(new.values())
    wrong = _judge(case, list(new.values()), received, 1)
    if wrong and not all(trace.finished(lines) for lines in new.values()):
        return timeouts.Hung(wrong)
    return wrong


def _fresh(server, before, count, seconds):
    traces = server.traces(len(before) + count, seconds)
    return {number: lines for number, lines in traces.items() if number not in before}


def _judge(case, traces, received, times, strangers=False):
    """Whether the traces are those of the case, `times` times for each client."""
    left = list(traces)
    for name in case.clients():
        for _ in range(times):
            fitting = [lines for lines in left
                       if trace.difference(case.traces[name], lines) is None]
            # Another client may have done the same at another second.
            fits = next((lines for lines in fitting if received is not None
                         and trace.output(lines) == received.get(name)),
                        next(iter(fitting), None))
            if fits is None:
                who = f'client {name}: ' if name else ''
                if not left:
                    return f'{who}a connection left no trace'
                near = max(left, key=lambda lines: _agreement(case.traces[name], lines))
                return who + trace.difference(case.traces[name], near)
            left.remove(fits)
            if received is not None and not case.is_cut(name) and not case.encodes() \
                    and len([n for n in case.clients()
                             if case.traces[n] == case.traces[name]]) == 1 \
                    and trace.output(fits) != received[name]:
                return ('what was received is not what was replied'
                        f'\n  replied:  {short(trace.output(fits))}'
                        f'\n  received: {short(received[name])}')
    if left and not strangers:
        return 'a connection too many: ' + '; '.join(trace.show(l, 80) for l in left[0])
    for lines in left:
        if lines[0] != ('open',) or sum(1 for line in lines if line[0] == 'end') != 1:
            return ('a bystander\'s trace does not go from one open to one end: '
                    + '; '.join(trace.show(line, 80) for line in lines))
    return None


def _agreement(expected, lines):
    want, got = trace.normal(expected), trace.normal(lines)
    same = 0
    for a, b in zip(want, got):
        if a != b:
            break
        same += 1
    return same


def _crowd(case, server, kind):
    """Runs many clients at once."""
    before = set(server.traces(0, 0))
    wrong = []
    times = max(1, CROWD // len(case.clients()))
    together = threading.Barrier(times, timeout=timeouts.seconds() * times)

    def tell(what, argument):           # once, when all clients have reached this step
        if together.wait() == 0:
            server.tell(what, argument)
        together.wait()

    def one():
        try:
            with timeouts.among(times * len(case.clients())):
                converse(case, case.talk, kind, server.addresses[kind], not case.cuts, tell)
        except (ClientError, ServerError, OSError) as error:
            wrong.append(timeouts.Hung(error) if isinstance(error, (Hung, Silent)) else str(error))
            together.abort()
        except threading.BrokenBarrierError:
            wrong.append('others did not come so far')

    threads = [threading.Thread(target=one) for _ in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        return type(wrong[0])(f'{len(wrong)} of {times} at once: {wrong[0]}')
    new = _fresh(server, before, times * len(case.clients()), SETTLE * times)
    return _judge(case, list(new.values()), None, times)


def _bystanders(case, server, kind):
    """Runs clients that stall, reset and half-close. None of them may disturb the test client."""
    address = server.addresses[kind]
    before = set(server.traces(0, 0))
    first = next((argument for _, step, argument in case.talk if step == 'send'), b'')
    stalling = Client(kind, address, small=True)
    try:
        stalling.send(first[:max(1, len(first) // 2)])
        halves = Client(kind, address)
        halves.send(first[:-1])
        halves.half_close()
        resetting = Client(kind, address)
        resetting.send(first)
        resetting.reset()
        with timeouts.among(3 + len(case.clients())):
            received = converse(case, case.talk, kind, address, not case.cuts)
        halves.seen = None
        _drain(halves)
    finally:
        stalling.close()
    new = _fresh(server, before, 3 + len(case.clients()), SETTLE)
    # A client that resets before it is accepted may never have been a connection.
    if not 2 + len(case.clients()) <= len(new) <= 3 + len(case.clients()):
        return f'{len(new)} connections left a trace, there were {3 + len(case.clients())}'
    return _judge(case, list(new.values()), received, 1, strangers=True)


def _drain(client):
    """Reads the rest of a bystander's output, which may be anything, but the server must close."""
    client.seen = 0
    try:
        client.expect_close()
    except ClientError as error:
        if isinstance(error, Hung):
            raise
    finally:
        client.close()


def _sequence(case, server, kind, times):
    """Runs more clients than maxClients, one after another."""
    for turn in range(times):
        wrong = _one(case, server, kind, case.talk, sync=not case.cuts)
        if wrong:
            return type(wrong)(f'client {turn + 1} of {times}: {wrong}')
    return None
