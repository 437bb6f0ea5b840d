"""The editor of a tree: on each level, members are ticked or dragged into groups; groups are renamed and removed."""

from collections.abc import Callable, Sequence
from functools import partial

from nicegui.element import Element

from indistinct.figures import plural
from indistinct.hierarchy import Explicit
from indistinct.web import parts
from indistinct.web.frame import Screen
from indistinct.web.language import Own, translate
from indistinct.web.steps.hierarchies.fields import decide
from indistinct.web.tree_edits import (
    Group,
    Rows,
    add_level,
    add_top,
    groups_of,
    levels_of,
    put,
    remove_group,
    remove_level,
    rename,
    take_out,
    tree_of,
)
from indistinct.web.worker import TaskError

PAGE = 120
"""Number of members that are shown at once."""
LEVEL, TICKED, SOUGHT, FIRST, INTO = "level", "ticked", "sought", "first", "into"
"""What a tab alone decides about the tree that it shows."""
DRAGGED = "(e) => e.dataTransfer.setData('text/plain', e.currentTarget.dataset.member)"
DROPPED = "(e) => emit(e.dataTransfer.getData('text/plain'))"
"""What the browser does when a member is dragged, and dropped on a group."""


def draw_tree(screen: Screen, column: str, hierarchy: Explicit) -> None:
    """Draw the groups of one level with the actions on them."""
    rows, rooted = hierarchy.rows, hierarchy.rooted
    levels = levels_of(rows, rooted=rooted)
    editor = _Editor(screen, column, rows, rooted)
    parts.heading("Groups", level=3)
    if hierarchy.form in ("file", "parents"):
        parts.say("This tree is read from a file; a change here writes it into the policy instead.")
    if not levels:
        parts.say("There are only values and the top.")
    else:
        editor.level = max(levels[0], min(levels[-1], screen.choices.get(LEVEL, levels[0])))
        editor.draw_level(levels)
    with parts.tag("div", classes="actions"):
        parts.button("Add a level", editor.on(lambda: add_level(rows, rooted=rooted), at="add-level"), name="add-level")
        if levels and len(rows[0]) > 2:
            level = editor.level
            parts.button(
                f"Remove level {level}",
                editor.on(lambda: remove_level(rows, level), at="add-level"),
                name="remove-level",
            )
        if not rooted:
            top = screen.on(lambda: decide(screen, column, tree_of(add_top(rows))), at="add-level")
            parts.button("Add one top for all", top, name="add-top")


class _Editor:
    """One tree on one level; every change makes new rows."""

    def __init__(self, screen: Screen, column: str, rows: Rows, rooted: bool) -> None:
        self.screen, self.column, self.rows, self.rooted, self.level = screen, column, rows, rooted, 1

    def on(self, edit: Callable[..., Rows], *, at: str) -> Callable[..., object]:
        """Return a handler that saves edited rows in the policy."""
        return self.screen.on(self._putting(edit), at=at)

    def _putting(self, edit: Callable[..., Rows]) -> Callable[..., None]:
        """Return a function that applies an edit and saves the tree."""

        def put_edited(*values: str) -> None:
            changed = tree_of(edit(*values), rooted=self.rooted)
            decide(self.screen, self.column, changed, keep=(LEVEL, SOUGHT, FIRST))

        return put_edited

    def draw_level(self, levels: range) -> None:
        """Draw a level: which one, its groups and what is in none, and where ticked ones go."""
        groups = groups_of(self.rows, self.level)
        choices = self.screen.choices
        with parts.tag("div", classes="tree-tools"):
            if len(levels) > 1:
                groups_by_label = {
                    str(level): f"{level}: {plural(len(groups_of(self.rows, level)), 'label')}" for level in levels
                }
                parts.choice(
                    "Level", groups_by_label, str(self.level), self._show(LEVEL, int, at="level"), name="level"
                )
            parts.field(
                "Show members that contain",
                choices.get(SOUGHT, ""),
                self._show(SOUGHT, str, at="sought"),
                name="sought",
                kind="search",
            )
        matching = find_groups(groups, choices.get(SOUGHT, ""))
        members = sum(len(group.members) for group in matching)
        first = min(choices.get(FIRST, 0), max(0, members - 1) // PAGE * PAGE)
        shown_groups = page_of(matching, first)
        self._draw_groups([group for group in shown_groups if not group.alone])
        self._draw_alone([group.label for group in shown_groups if group.alone])
        self._draw_pages(first, members)
        self._draw_moves([group.label for group in groups if not group.alone])

    def _show(self, name: str, read: Callable[[str], object], *, at: str) -> Callable[..., object]:
        """Return the handler of a control that changes what the editor shows."""

        def show(value: str) -> None:
            self.screen.choices = {**self.screen.choices, name: read(value), FIRST: 0}
            if name == LEVEL:
                self.screen.choices.pop(TICKED, None)

        return self.screen.on(show, at=at)

    def _draw_groups(self, groups: Sequence[Group]) -> None:
        """Draw each group with its name and members."""
        level, rows = self.level, self.rows
        for index, group in enumerate(groups):
            name, label = f"group-{index}", group.label
            with parts.tag("fieldset", classes="group") as box:
                self._take_dropped(box, partial(self._put_one, label))
                parts.tag("legend", Own(f"{translate(_spell_label(label))} ({translate(f'{len(group.members):,}')})"))
                with parts.tag("div", classes="group-name"):
                    self.screen.field(
                        "Name",
                        label,
                        self._putting(lambda text, old=label: rename(rows, old, level=level, name=_require_name(text))),
                        name=name,
                        key=(self.column, level, label),
                        about=f"{self.column}: name of a group",
                        part=lambda policy: policy.hierarchies.get(self.column),
                    )
                    parts.button(
                        "Remove group",
                        self.on(lambda old=label: remove_group(rows, old, level=level), at="into"),
                        name=f"remove-{index}",
                        label=f"Remove group {_spell_label(label)}",
                    )
                self._draw_members(group.members, name=f"member-{index}")

    def _put_one(self, group: str, member: str) -> Rows:
        return put(self.rows, [member], level=self.level, group=group)

    def _take_dropped(self, box: Element, edit: Callable[[str], Rows]) -> None:
        """Let a member be dragged into a box; ticks and buttons do the same from the keyboard."""
        take = self.on(edit, at="into")
        box.on("drop", lambda event: take(str(event.args)), js_handler=DROPPED)

    def _draw_alone(self, members: Sequence[str]) -> None:
        """Draw the members that are in no group of this level."""
        with parts.tag("fieldset", classes="group alone") as box:
            self._take_dropped(box, lambda one: take_out(self.rows, [one], level=self.level))
            parts.tag("legend", f"In no group: unmodified on this level ({len(members):,})")
            self._draw_members(members, name="alone")
            if not members:
                parts.say("Every member is in a group.", kind="hint")

    def _draw_members(self, members: Sequence[str], *, name: str) -> None:
        """Draw members with checkboxes; they can be dragged to other groups."""
        ticked: set[str] = self.screen.choices.setdefault(TICKED, set())
        with parts.tag("div", classes="members"):
            for index, member in enumerate(members):

                def tick(wanted: bool, member: str = member) -> None:
                    (ticked.add if wanted else ticked.discard)(member)

                with parts.tag("div", draggable="true", data_member=member) as box:
                    parts.tick(_spell_label(member), member in ticked, tick, name=f"{name}-{index}")
                box.on("dragstart", js_handler=DRAGGED)

    def _draw_pages(self, first: int, members: int) -> None:
        """Draw the buttons to other members."""
        if members <= PAGE:
            return

        def turn(to: int) -> None:
            self.screen.choices[FIRST] = to

        with parts.tag("div", classes="actions"):
            back, on = first - PAGE, first + PAGE
            self.screen.button("Back", lambda: turn(back), name="page-back", disabled=first == 0, at="pages")
            parts.tag(
                "span", f"{first + 1:,} to {min(on, members):,} of {members:,} members", id="pages", tabindex="-1"
            )
            self.screen.button("On", lambda: turn(on), name="page-on", disabled=on >= members, at="pages")

    def _draw_moves(self, labels: Sequence[str]) -> None:
        """Draw the controls that move ticked members to a group."""
        choices, rows, level = self.screen.choices, self.rows, self.level

        def moved() -> Rows:
            return put(rows, _require_ticked(choices), level=level, group=_require_name(choices.get(INTO, "")))

        with parts.tag("div", classes="moves"):
            parts.field(
                "Put ticked members into the group",
                choices.get(INTO, ""),
                lambda text: choices.__setitem__(INTO, text),
                name="into",
                error=self.screen.errors.get("into"),
                list="group-names",
                placeholder="a new name, or that of a group",
                autocomplete="off",
            )
            with parts.tag("datalist", id="group-names"):
                for label in labels[:PAGE]:
                    parts.tag("option", value=label)
            with parts.tag("div", classes="actions"):
                parts.button("Put into group", self.on(moved, at="into"), name="move")
                parts.button(
                    "Take out of groups",
                    self.on(lambda: take_out(rows, _require_ticked(choices), level=level), at="into"),
                    name="take-out",
                )


def find_groups(groups: Sequence[Group], text: str) -> list[Group]:
    """Return the groups with those members that contain a text, or all of them if the group itself does.

    >>> find_groups([Group("infection", ("flu", "cold"))], "co")
    [Group(label='infection', members=('cold',))]
    """
    sought = text.strip().casefold()
    matching = []
    for group in groups:
        named = sought in group.label.casefold()
        members = tuple(each for each in group.members if named or sought in each.casefold())
        if members:
            matching.append(Group(group.label, members))
    return matching


def page_of(groups: Sequence[Group], first: int, *, most: int = PAGE) -> list[Group]:
    """Return the groups that have a part in one page of members, with that part.

    >>> page_of([Group("a", ("1", "2")), Group("b", ("3",))], 1, most=2)
    [Group(label='a', members=('2',)), Group(label='b', members=('3',))]
    """
    page, position = [], 0
    for group in groups:
        part = group.members[max(0, first - position) : max(0, first + most - position)]
        position += len(group.members)
        if part:
            page.append(Group(group.label, part))
    return page


def _require_ticked(choices: dict[str, object]) -> set[str]:
    ticked = choices.get(TICKED)
    if not isinstance(ticked, set) or not ticked:
        raise TaskError("tick the members first", hint="those that shall be in the group")
    return ticked


def _require_name(text: str) -> str:
    name = text.strip()
    if not name:
        raise TaskError("name the group", hint="a new name, or that of a group that there is")
    return name


def _spell_label(label: str) -> str:
    return Own(label) if label else "(missing)"
