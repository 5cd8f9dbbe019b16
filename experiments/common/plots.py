"""Plots as SVG, by matplotlib. The same numbers give the same file.

Must not know: what the numbers mean.
"""

import os

try:
    import matplotlib
    matplotlib.use('svg')
    from matplotlib import pyplot
except ImportError:
    pyplot = None


def draw(plot, folder):
    """Draws one plot: series of points; None is no point."""
    if pyplot is None:
        return False
    pyplot.rcParams.update({'svg.hashsalt': 'nest', 'svg.fonttype': 'none', 'font.size': 9, 'axes.grid': True,
                            'grid.alpha': .3, 'axes.spines.top': False, 'axes.spines.right': False})
    figure, axes = pyplot.subplots(figsize=(6.4, 3.6))
    for marker, (name, points) in zip('os^vDxP*<>' * 3, plot['series'].items()):
        points = [p for p in points if p[1] is not None]
        dashed = name in plot.get('dashed', [])
        axes.plot([p[0] for p in points], [p[1] for p in points], marker=marker, markersize=4, linewidth=1.2, label=name,
                  linestyle='--' if dashed else '-')
    if plot.get('log x'):
        axes.set_xscale('symlog', linthresh=1)
    if plot.get('log y'):
        axes.set_yscale('log')
    else:
        axes.set_ylim(bottom=0)
    axes.set(xlabel=plot['x'], ylabel=plot['y'], title=plot['title'])
    axes.legend(fontsize=7)
    figure.tight_layout()
    os.makedirs(folder, exist_ok=True)
    figure.savefig(os.path.join(folder, f'{plot["file"]}.svg'), metadata={'Date': None})
    pyplot.close(figure)
    return True
