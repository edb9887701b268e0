"""A bar chart of percentages as SVG."""

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 300, 48, 44, 36
COLOURS = ["#4269d0", "#efb118", "#3ca951"]


def chart(groups, series):
    """Returns the SVG: a group of bars for each of `groups`, in it one bar for each of `series`
    (name → percentages from 0 to 100, by group; `None` is left out)."""
    step = (WIDTH - LEFT) / len(groups)
    bar = 0.8 * step / len(series)
    y = lambda percent: TOP + (HEIGHT - TOP - BOTTOM) * (1 - percent / 100)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="system-ui, sans-serif" font-size="12" role="img" '
             'aria-label="Accuracy of the scenarios, percent"><rect width="100%" height="100%" fill="#fff"/>']
    for percent in (0, 25, 50, 75, 100):
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y(percent):.1f}" y2="{y(percent):.1f}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 6}" y="{y(percent) + 4:.1f}" text-anchor="end">{percent} %</text>')
    for place, (name, percents) in enumerate(series.items()):
        parts.append(f'<rect x="{LEFT + 140 * place}" y="8" width="12" height="12" fill="{COLOURS[place]}"/><text x="{LEFT + 18 + 140 * place}" y="18">{name}</text>')
        for group, percent in enumerate(percents):
            if percent is not None:
                shown = max(0.0, percent)
                x = LEFT + group * step + 0.1 * step + place * bar
                parts.append(f'<rect x="{x:.1f}" y="{y(shown):.1f}" width="{bar - 1:.1f}" height="{y(0) - y(shown):.1f}" fill="{COLOURS[place]}">'
                             f'<title>{name}, {groups[group]}: {percent:.1f} %</title></rect>')
    for group, name in enumerate(groups):
        parts.append(f'<text x="{LEFT + (group + 0.5) * step:.1f}" y="{HEIGHT - 24}" text-anchor="middle">{name}</text>')
    parts.append(f'<text x="{LEFT + (WIDTH - LEFT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">scenario; accuracy of whole jobs, percent</text></svg>\n')
    return "\n".join(parts)
