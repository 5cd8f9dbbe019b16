"""What parts of a test share: a server of a specification, and a line of the report for each case.

Must not know: what is checked.
"""

from .nest import Failed, run


def built(nest, model, text, base):
    """A server of this specification."""
    with open(base + '.nest', 'w', encoding='ascii') as file:
        file.write(text)
    run([nest, 'build', '--model', model, base + '.nest', '-o', base])
    return base


def attempt(report, model, name, what, case):
    """A line of the report."""
    try:
        case()
        report.line(True, model, f'{name}: {what}')
    except (Failed, OSError, ValueError, KeyError) as error:
        report.line(False, model, f'{name}: {what}', '', repr(error) if not str(error) else error)
