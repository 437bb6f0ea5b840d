"""The frame round every step: the list of steps, the key figures, the purpose of the step, and the same job as code.

A `Screen` is one tab that shows one step. It draws the step anew when the steward changed something, here or in
another tab, or when work is done; the field that had the focus gets it back.
"""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Literal

from nicegui import Client, background_tasks, ui
from nicegui.element import Element

from indistinct.document.catalogue import LANGUAGES
from indistinct.errors import IndistinctError
from indistinct.job.policy import Policy
from indistinct.web import parts
from indistinct.web.as_code import as_command, as_policy, as_python
from indistinct.web.language import NAMES, Own, keep_names, preferred_language, speak, translate
from indistinct.web.sessions import ConflictError, Refusal, Session, Work
from indistinct.web.standing import MEANING, standing
from indistinct.web.tables_job import TablesJob
from indistinct.web.worker import StoppedError, TaskError, task_error

# Seconds between two looks at whether there is something new.
SECONDS_BETWEEN_LOOKS = 0.3
# Seconds for which a click on what was drawn before is still heard.
SECONDS_UNTIL_REMOVED = 3.0
SHOW, CLOSE = (f"document.getElementById('code').{verb}()" for verb in ("showModal", "close"))
# What long work found may begin above or below what is seen.
SHOW_OUTCOME = (
    "{ const found = document.querySelector('#verdict') ?? document.querySelector('#step .outcome'); "
    "const top = found?.getBoundingClientRect().top ?? 0; "
    "if (top < 0 || top > innerHeight * 0.75) found.scrollIntoView(); }"
)
SAVED_JOBS = "Go on with a job of before"
"""Over the list of saved jobs, in the first step."""
HOW_TO_GO_ON = {
    True: f"What was decided is saved: choose this job there under “{SAVED_JOBS}”.",
    False: "Nothing is saved here (--no-save): what was decided is lost, unless you took it along as a file.",
}
"""What becomes of a job whose session is gone, by whether the server saves jobs."""
LOST = (
    "The server does not answer, and what you change now is not kept. If this stays, start it again with indistinct "
    "serve and open the address that it prints."
)
ENDED = (
    "This session has ended: it was not used for a while, or the server was started again. Open the address that the "
    "server printed last."
)
FRAMEWORK_LANGUAGES: dict[str, Literal["en-US", "de"]] = {"en": "en-US", "de": "de"}
"""What the framework, and the attribute `lang` of a page, call our languages."""
HEAD = '<link rel="stylesheet" href="/assets/look.css"><script defer src="/assets/page.js"></script>'


@dataclass(frozen=True, slots=True)
class Step:
    """One step: where it is, what it is called, what it is for, and what draws it."""

    name: str
    title: str
    purpose: str
    draw: Callable[["Screen"], Awaitable[None]]
    for_several: bool = True
    """Whether it is also there for several tables of the same people."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The parts of a page that are drawn anew."""

    name: Element
    tools: Element
    strip: Element
    work: Element
    step: Element
    way: Element | None = None
    """The links to the steps."""


@dataclass(slots=True)
class Screen:
    """One tab that shows one step of a session.

    `errors` are those of the last change, by the name of the field; `choices` is what this tab alone decides, such as
    which page of a table it shows.
    """

    session: Session
    step: Step
    steps: tuple[Step, ...]
    places: Places
    errors: dict[str, TaskError] = field(default_factory=dict)
    choices: dict[str, Any] = field(default_factory=dict)
    seen: int = -1
    drawing: bool = False
    again: str | None = None
    shown_work: tuple[Work, Element, Element] | None = None
    shown_steps: tuple[Step, ...] = ()

    @property
    def policy(self) -> Policy:
        """The current job; only for steps that need one."""
        return self.session.require_job()

    def change(self, policy: Policy) -> None:
        """Replace the policy shown in this tab."""
        self.session.change(policy, seen=self.seen)

    @property
    def tables(self) -> TablesJob:
        """The current job on several tables; only for steps that need one."""
        return self.session.require_tables()

    def change_tables(self, job: TablesJob) -> None:
        """Replace the job on several tables shown in this tab."""
        self.session.change_tables(job, seen=self.seen)

    async def act(self, action: Callable[[], Any], *, at: str = "") -> None:
        """Run the action of a control, show an error at its field, and redraw the step."""
        self.errors = {}
        if self.session.ended:
            await self.draw()
            return
        try:
            done = action()
            if inspect.isawaitable(done):
                await done
        except Exception as error:  # noqa: BLE001 (it is shown, without what it may quote)
            self.errors[at] = task_error(error)
        await self.draw(focus=at)

    def on(self, action: Callable[..., Any], *, at: str = "") -> Callable[..., Awaitable[None]]:
        """Return a handler for a control that does something with what it is given."""

        @functools.wraps(action)  # the framework passes its event to functions with a parameter for it
        async def handler(*values: Any) -> None:
            await self.act(lambda: action(*values), at=at)

        return handler

    def field(
        self,
        label: str,
        value: str,
        take: Callable[[str], Any],
        *,
        name: str,
        key: Any = None,
        part: Callable[[Any], Any] = lambda _job: None,
        about: str = "",
        action: str = "",
        **options: Any,
    ) -> None:
        """Draw a text field; an invalid text stays in it with the error message, and blocks running.

        `key` tells the field from those of the same name about other columns, `about` says in words which one it is,
        `part` is the part of the job that it is about, and `action` the one action that it is about if not the job.
        """
        key = (self.step.name, key or name)
        refused = self.session.refusal(key)

        async def taken(text: str) -> None:
            await self.taking(
                lambda: take(text),
                key,
                lambda error: Refusal(self.step.name, name, about or label, text, error, part, action),
            )

        error = self.errors.get(name) or (refused.error if refused else None)
        field_text = refused.text if refused else value
        parts.field(label, field_text, self.on(taken, at=name), name=name, error=error, **options)

    def choice(self, label: str, options: Any, value: str, take: Callable[..., Any], *, name: str, **how: Any) -> None:
        """Draw a drop-down list; an error of `take` is shown at it."""
        parts.choice(label, options, value, self.on(take, at=name), name=name, error=self.errors.get(name), **how)

    def tick(self, label: str, value: bool, take: Callable[..., Any], *, name: str, **how: Any) -> None:
        """Draw a checkbox; an error of `take` is shown at it."""
        parts.tick(label, value, self.on(take, at=name), name=name, error=self.errors.get(name), **how)

    def button(self, text: str, act: Callable[..., Any], *, name: str, at: str = "", **how: Any) -> Element:
        """Draw a button that does something; an error belongs to it, or to the field `at`, which shows it."""
        return parts.button(text, self.on(act, at=at or name), name=name, **how)

    def problem(self, at: str) -> None:
        """Draw the error of a control, if it has one."""
        if at in self.errors:
            parts.problem(self.errors[at], at=at)

    async def taking(self, take: Callable[[], Any], key: Any, refusal: Callable[[TaskError], Refusal]) -> None:
        """Let a field take what was typed; what it cannot take is kept with the reason."""
        try:
            done = take()
            if inspect.isawaitable(done):
                await done
        except ConflictError:  # it may be valid: it was typed too late
            raise
        except Exception as error:  # noqa: BLE001 (it is shown, without what it may quote)
            failure = task_error(error)
            self.session.refuse(key, refusal(failure))
            raise failure from None
        self.session.settle(key)

    def cannot_begin(self, action: str = "") -> bool:
        """Return whether an action has to wait: for other work, or for a field that holds something it cannot take."""
        return self.session.working or bool(self.session.refusals(action))

    async def draw(self, *, focus: str = "") -> None:
        """Redraw the step."""
        positions, page = self.places, self.places.step
        if page.is_deleted:
            return
        if self.drawing:  # something happened meanwhile: it is shown when this is done
            self.again = focus
            return
        self.drawing = True
        keep_names(page.client, () if self.session.policy is None else self.session.policy.schema.columns)
        try:
            self.seen = self.session.version
            self._draw_steps()
            _redraw(positions.name, lambda: parts.tag("span", Own(self.session.name)))
            _redraw(positions.strip, self._draw_strip)
            _redraw(positions.tools, self._draw_tools)
            await self._draw_anew(page, focus)
            self.draw_work()
        finally:
            self.drawing = False
        if self.again is not None:
            focus, self.again = self.again, None
            await self.draw(focus=focus)

    def _draw_steps(self) -> None:
        """Draw the way through the steps; a job on several tables has fewer."""
        visible = tuple(each for each in self.steps if self.session.tables is None or each.for_several)
        if visible != self.shown_steps and self.places.way is not None:
            self.shown_steps = visible
            _redraw(self.places.way, lambda: draw_way(self.step, visible))

    async def _draw_anew(self, page: Element, focus: str) -> None:
        """Draw the step, and show it in place of what was there when all of it is drawn, so that nothing jumps.

        The step names the control that it was drawn for, with the step itself: a message that followed would leave the
        page without a focus until it came.
        """
        before = list(page)
        with page, parts.tag("div", hidden=True) as fresh:
            await self._draw_step()
        if page.is_deleted:
            return
        _retire(page, before)
        if focus:
            fresh.props["data-focus"] = focus
            fresh.props["data-error"] = focus in self.errors or None
        fresh.props.pop("hidden")
        fresh.update()

    async def _draw_step(self) -> None:
        """Draw the heading, running work, errors and content of the step."""
        parts.heading(self.step.title, level=1)
        parts.say(self.step.purpose, kind="purpose")
        if self.session.ended:
            box = parts.notice(ENDED, kind="bad", hint=HOW_TO_GO_ON[self.session.settings.shelf.keeps])
            box.props["id"] = "ended"
            return
        work = self.session.work
        if work is not None and work.error is not None and self._is_told_here(work):
            self.errors.setdefault(work.at, work.error)
        if "" in self.errors:
            parts.problem(self.errors[""])
        if not self.session.is_open and self.step is not self.steps[0]:
            parts.notice("Nothing is open yet.", hint="Open a table first: everything else begins with it.")
            parts.link("Open a table", f"/{self.steps[0].name}", classes="main")
            return
        self._draw_refusals()
        try:
            await self.step.draw(self)
        except Exception as error:  # noqa: BLE001 (it is shown, without what it may quote)
            parts.problem(task_error(error))

    def _draw_refusals(self) -> None:
        """Name the fields of the job that hold something they cannot take, on every step: nothing runs until then."""
        left = self.session.refusals()
        if not left:
            return
        titles = {step.name: step.title for step in self.steps}
        with parts.notice("Nothing is searched, assessed or prepared until this is valid:", kind="warning") as box:
            box.props["id"] = "not-valid"
            with parts.tag("ul"):
                for each in left:
                    with parts.tag("li"):
                        parts.tag("span", f"{each.label}: {each.error.message} ")
                        if each.step != self.step.name:
                            parts.link(f"Go to {titles[each.step].lower()}", f"/{each.step}")
            with parts.tag("div", classes="actions"):
                parts.button("Leave as it was", self.on(self.session.settle_all), name="leave-as-it-was")

    def _draw_strip(self) -> None:
        """Draw the strip with the key figures of the job."""
        for label, value, kind in standing(self.session):
            with parts.tag("div", classes=f"{kind} {label.replace(' ', '-')}".strip()):
                with parts.tag("dt"):
                    if label in MEANING:
                        parts.term(label, MEANING[label])
                parts.tag("dd", value)

    def _draw_tools(self) -> None:
        """Draw the buttons above the step: undo, and the job as code."""
        parts.button("Undo", self.on(self.session.undo), name="undo", disabled=not self.session.can_undo)
        if self.session.is_open:
            parts.button(
                "As code", self._show_code, name="as-code", label="Show this job as Python, command and policy"
            )

    async def _show_code(self) -> None:
        """Show the job as policy, command and Python in a dialog."""
        forms = {"policy.toml": as_policy, "Command": as_command, "Python": as_python}
        with ui.element("dialog") as box:
            box.props["id"], box.props["aria-label"] = "code", translate("This job as code")
            parts.heading("This job without the page")
            for each in self.session.refusals():
                parts.notice(f"{each.label} is as it was before: the text in the field is not valid.", kind="warning")
            for label, write in forms.items():
                try:
                    parts.code(write(self.session), label=label, name=f"code-{label.partition('.')[0].lower()}")
                except IndistinctError as error:
                    parts.notice(error.message, kind="bad", hint=error.hint)
            parts.button("Close", lambda: ui.run_javascript(CLOSE), name="code-close")
        box.on("close", box.delete, args=[])
        ui.run_javascript(SHOW)

    def draw_work(self) -> None:
        """Draw how far the long task is, and how to stop it; and how the last one ended if it failed."""
        session, work = self.session, self.session.work
        progress = session.progress
        now = [translate(each) for each in (progress.stage, progress.rows) if each]
        status = Own(" ".join([translate(work.name if work else ""), "…", *now]))
        if self.shown_work is not None and self.shown_work[0] is work and not work.done:
            # A button that is drawn anew loses the click that is on its way, and the focus.
            _, words, bar = self.shown_work
            words.text = translate(status)  # type: ignore[attr-defined]  # an element with a text
            bar.props["value"] = progress.share or None
            return
        if self.shown_work is not None and self.shown_work[0] is work and work.error is None:
            self.places.step.client.run_javascript(SHOW_OUTCOME)
        self.shown_work = None
        self.places.work.clear()
        if work is None:
            return
        with self.places.work:
            if not work.done:
                with parts.tag("div", classes="work", role="status"):
                    words = parts.tag("p", status)
                    bar = parts.tag("progress", value=progress.share or None, max=1, aria_label=work.name)
                    parts.button("Stop", self.on(self._stop), name="stop")
                self.shown_work = (work, words, bar)
            elif isinstance(work.error, StoppedError):
                parts.notice(f"{work.name}: stopped. Nothing was changed.")
            elif work.error is not None and not self._is_told_here(work):
                parts.problem(work.error)

    def _is_told_here(self, work: Work) -> bool:
        """Return whether what went wrong is shown at a field of this step."""
        return work.step == self.step.name and not isinstance(work.error, StoppedError)

    async def _stop(self) -> None:
        """Stop the long task, and wait until that can be shown."""
        self.session.cancel()
        work = self.session.work
        if work is not None and work.handle is not None:
            await asyncio.wait({work.handle}, timeout=SECONDS_BETWEEN_LOOKS)

    async def watch(self) -> None:
        """Look whether there is something new, and draw it."""
        if self.session.version != self.seen and not self.drawing:
            await self.draw()
        elif self.session.working:
            self.draw_work()


def _redraw(element: Element, draw: Callable[[], Any]) -> None:
    """Replace the content of an element."""
    _retire(element, list(element))
    with element:
        draw()


def _retire(element: Element, old: list[Element]) -> None:
    """Take old elements off the page; for a while they still hear what was clicked before the browser knew."""
    for each in old:
        element.default_slot.children.remove(each)
    element.update()
    background_tasks.create(_forget(element, old))


async def _forget(box: Element, old: list[Element]) -> None:
    """Remove old elements after a while, so that running handlers still find them."""
    await asyncio.sleep(SECONDS_UNTIL_REMOVED)
    if not box.is_deleted:
        box.client.remove_elements([each for element in old for each in element.descendants(include_self=True)])


def _speak(client: Client, language: str) -> None:
    """Set the language of a page, also for screen readers."""
    speak(client, language)
    client.page = copy(client.page)  # one page object serves all browsers
    client.page.language = FRAMEWORK_LANGUAGES[language]


def _draw_languages(session: Session, now: str) -> None:
    """Draw a button for each other language, in that language; it holds for the session."""

    def take(language: str) -> None:
        session.language = language
        ui.navigate.reload()

    with parts.tag("div", classes="languages"):
        for language in LANGUAGES:
            if language != now:
                name = f"language-{language}"
                box = parts.button(Own(NAMES[language]), functools.partial(take, language), name=name)
                box.props["lang"] = language


def draw_way(step: Step, steps: tuple[Step, ...]) -> None:
    """Draw links to steps; the current one is marked."""
    for each in steps:
        with parts.tag("li"):
            parts.link(each.name.capitalize(), f"/{each.name}", current=each is step)


def build(session: Session, step: Step, steps: tuple[Step, ...], *, asked: str = "") -> None:
    """Build the page of a step; what it shows is drawn as soon as the browser is there.

    `asked` are the languages that the browser prefers.
    """
    ui.add_head_html(HEAD)
    language = session.shown_in = session.language or preferred_language(asked)
    _speak(ui.context.client, language)
    ui.page_title(f"{translate(step.title)} · indistinct")
    # The framework's page is a main of its own round everything; the one below is the one to skip to.
    around = ui.context.client.content.parent_slot
    if around is not None:
        around.parent.props["role"] = "none"
    parts.link("Skip to the step", "#step", classes="skip")
    with parts.tag("header"):
        with parts.tag("div", classes="brand"):
            parts.tag("span", Own("indistinct"), classes="name")
            name = parts.tag("span", classes="table-name")
        with parts.tag("nav", aria_label="Steps"), parts.tag("ol") as way:
            visible = tuple(each for each in steps if session.tables is None or each.for_several)
            draw_way(step, visible)
        tools = parts.tag("div", classes="tools")
        _draw_languages(session, language)
    strip = parts.tag("dl", classes="strip", aria_label="Where this job stands")
    on = HOW_TO_GO_ON[session.settings.shelf.keeps]
    with parts.tag("main", id="step", tabindex="-1", data_lost=f"{LOST} {on}", data_ended=f"{ENDED} {on}"):
        work = parts.tag("div", classes="works")
        with parts.tag("div", classes="step") as page:
            parts.heading(step.title, level=1)
            parts.say(step.purpose, kind="purpose")
    screen = Screen(session, step, steps, Places(name, tools, strip, work, page, way), shown_steps=visible)
    # The first look draws the step: twice would cost twice, and lose a click in between.
    ui.timer(SECONDS_BETWEEN_LOOKS, screen.watch)
