"""What the plots of this folder share: logarithmic axes, and SVG printed element by element."""

import html
import math

INK = "#7d7d7d"


class Axis:
    def __init__(self, values, low, high):
        least, most = min(values), max(values)
        least, most = (least / 2, most * 2) if least == most else (least, most)
        room = (most / least) ** 0.04
        self.least, self.most, self.low, self.high = math.log(least / room), math.log(most * room), low, high

    def at(self, value):
        return self.low + (math.log(value) - self.least) / (self.most - self.least) * (self.high - self.low)

    def shows(self, value):
        return self.least <= math.log(value) <= self.most


def begin(width, height, title):
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
          f'font-family="system-ui, sans-serif" font-size="12" fill="{INK}">')
    print(f"<title>{html.escape(title)}</title>")
    text(width / 2, 18, "middle", title)


def stroke(path, color, dashes):
    print(f'<path d="{path}" fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dashes or "none"}" stroke-linejoin="round"/>')


def rule(x1, y1, x2, y2, style=""):
    print(f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{INK}" {style}/>')


def text(x, y, anchor, words):
    print(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>')


def upwards(x, y, words):
    """Text that is read from below, for the axis at the left."""
    print(f'<text x="{x}" y="{y:.1f}" text-anchor="middle" transform="rotate(-90 {x} {y:.1f})">{html.escape(words)}</text>')
