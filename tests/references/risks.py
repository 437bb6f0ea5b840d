"""Risk measures by hand: rows in lists, classes in dictionaries, one formula a line."""

from collections import defaultdict

SIZES = (1, 2, 3, 4, 5, 10, 11, 20)


def classes_of(rows, people=None):
    """Return the members of each class: numbers of rows, or people.

    >>> classes_of([("a",), ("b",), ("a",)])
    {('a',): {0, 2}, ('b',): {1}}
    """
    found = defaultdict(set)
    for place, row in enumerate(rows):
        found[tuple(row)].add(place if people is None else people[place])
    return dict(found)


def risks(rows, *, threshold, population=None, people=None, population_people=None):
    """Return the figures of a table; everybody has the highest risk of the classes in which they stand."""
    classes = classes_of(rows, people)
    everybody = set().union(*classes.values())

    def over_members(risk):
        own = [max(risk[key] for key, members in classes.items() if one in members) for one in everybody]
        return sum(own) / len(own), sum(each > threshold for each in own) / len(own)

    within = {key: 1 / len(members) for key, members in classes.items()}
    average, at_risk = over_members(within)
    smallest = {one: min(len(members) for members in classes.values() if one in members) for one in everybody}
    figures = {
        "prosecutor": {"highest": max(within.values()), "average": average, "at_risk": at_risk},
        "uniques": sum(size == 1 for size in smallest.values()),
        "classes": len(classes),
        "rows": len(rows),
        "cumulative": {str(n): sum(size <= n for size in smallest.values()) / len(everybody) for n in SIZES},
        "marketer": average,
        "counted": None,
    }
    if population is not None:
        whole = classes_of(population, population_people)
        beyond = {key: 1 / len(whole[key]) for key in classes}
        mean, exposed = over_members(beyond)
        looks = sum(len(whole[key]) for key in classes)
        highest = max(beyond.values())
        figures["journalist"] = {"highest": highest, "average": max(len(classes) / looks, mean), "at_risk": exposed}
        figures["marketer"] = mean
        alone = [one for one in everybody if any(one in classes[key] and len(whole[key]) == 1 for key in classes)]
        figures["counted"] = len(alone) / len(everybody)
    return figures


def without(rows, column):
    """Return the rows without one column."""
    return [tuple(value for place, value in enumerate(row) if place != column) for row in rows]


def shares(rows, values):
    """Return the largest and the mean share of the most frequent value over classes, and the members in pure ones."""
    classes = classes_of(rows)
    most, pure = [], 0
    for members in classes.values():
        own = [values[place] for place in members]
        most.append(max(own.count(value) for value in own) / len(own))
        pure += len(own) if len(set(own)) == 1 else 0
    return max(most), sum(most) / len(most), pure / len(rows)
