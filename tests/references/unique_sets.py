"""Uniqueness by comparing everybody with everybody, column set by column set."""

from itertools import combinations


def column_sets(width, size):
    return [columns for chosen in range(1, size + 1) for columns in combinations(range(width), chosen)]


def is_unique(rows, people, place, columns):
    """Return whether only the person of a row has its values in some columns."""
    values = [rows[place][j] for j in columns]
    return all(
        people[other] == people[place] or [rows[other][j] for j in columns] != values for other in range(len(rows))
    )


def minimal_uniques_of(rows, people, size):
    """Return, for every row, the column sets of at most `size` columns that are minimal uniques of it."""
    width = len(rows[0])
    found = []
    for place in range(len(rows)):
        mine = []
        for columns in column_sets(width, size):
            if not any(set(columns) > set(part) for part in mine) and is_unique(rows, people, place, columns):
                mine.append(columns)
        found.append(mine)
    return found


def people_unique_in(rows, people, columns):
    return {people[place] for place in range(len(rows)) if is_unique(rows, people, place, columns)}
