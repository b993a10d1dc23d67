"""Bars on nodes over time, cell by cell and bar by bar."""

import numpy as np


def cells(bars, weight, window, rows, columns):
    """
    Return busy share, weight and most filling job of each cell.

    `bars`: node, job, start and end of each; `window`: begin, end, low, high.
    """
    begin, end, low, high = window
    wide, tall = (end - begin) / columns, (high - low) / rows
    busy, heavy = np.zeros((rows, columns)), np.zeros((rows, columns))
    top, most = np.full((rows, columns), -1), np.zeros((rows, columns))
    for node, job, start, stop in sorted(bars, key=lambda bar: (bar[0], bar[2])):
        for row in range(rows):
            below, above = low + row * tall, low + (row + 1) * tall
            share = max(0.0, min(node + 1, above) - max(node, below)) / tall
            for column in range(columns):
                left, right = begin + column * wide, begin + (column + 1) * wide
                part = max(0.0, min(stop, right) - max(start, left)) / wide * share
                busy[row, column] += part
                heavy[row, column] += part * weight[job]
                if part > most[row, column] + 1e-12:
                    most[row, column], top[row, column] = part, job
    return busy, heavy, top, most
