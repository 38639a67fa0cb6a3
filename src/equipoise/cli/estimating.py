"""What a run will cost: its own prompts counted, its replies as long as they usually are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.cli.studies import Handling, Study, handling
from equipoise.cli.tallies import usage_of
from equipoise.ledger import Ledger, Run
from equipoise.providers import dialect, planted
from equipoise.providers.prices import TOOL_TOKENS, Price, Priced, allowed
from equipoise.terms import (
    AnswerMode,
    Completion,
    Instrument,
    Message,
    Misuse,
    Request,
    Subject,
    Trial,
)

ASCII_BYTES, OTHER_BYTES, MESSAGE_TOKENS, REPLY_TOKENS = 4.0, 3.0, 4, 3
Answer = Callable[[Request], str | Completion]
REPLY_BYTES = 2
"""What a token of a reply that is sent back may take at most, as tokens of the next prompt."""
NOT_ASCII = re.compile(rb"[\x80-\xff]")


def prompt_tokens(messages: Iterable[Message]) -> float:
    """About how many tokens a prompt has: a rule of thumb, for no tokenizer in particular.

    A token for every 4 ASCII bytes and for every 3 other bytes (a Chinese character is 3), 4
    more a message and 3 for the reply's beginning.

    >>> prompt_tokens([Message("user", "mercy or justice")])
    11.0
    >>> prompt_tokens([Message("user", "仁慈")])
    9.0
    """
    tokens = float(REPLY_TOKENS)
    for message in messages:
        raw = message.text.encode("utf-8", "surrogatepass")
        other = len(NOT_ASCII.findall(raw))
        tokens += MESSAGE_TOKENS + (len(raw) - other) / ASCII_BYTES + other / OTHER_BYTES
    return tokens


@dataclass(frozen=True, slots=True)
class Measured:
    """The mean tokens of an earlier run's prompts and replies, as their provider counted them."""

    prompt: float
    completion: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one subject's calls may cost, in USD, and the tokens expected.

    `calls` when all goes well, `calls_most` at most; retries of a call that failed are not
    among them: what failed is not billed.
    """

    subject: str
    priced: Priced
    calls: int
    calls_most: int
    prompt: float
    completion: float
    low: float | None
    expected: float | None
    worst: float | None


def estimates(
    laid_out: Study, prices: Mapping[str, Priced], like: Mapping[str, Measured] = {},
    most: int = 0,
) -> list[Estimate]:
    """What each subject of a run may cost; every prompt is made, and nothing is sent.

    The prompts are those of a subject that answers as the instrument's first planted one does;
    what costs nothing has only its calls counted. Expected: the tokens of each prompt by rule,
    or as measured in an earlier run, and a reply as long as the instrument's usual one, or that
    run's mean. Low: half the prompt's tokens and a reply of one. Worst: every byte sent a token,
    every reply as long as its limit, every correction asked for, and what is left of the `most`
    calls that the instrument may take at the dearest of all. Raises Misuse for a priced subject
    whose replies have no limit.
    """
    how = handling(laid_out.registration.instrument)
    counts = {s.name: _Count(prices[s.name].price, how.usual[1], like.get(s.name, like.get("")))
              for s in everyone(laid_out)}
    free = not any(count.billed or prices[name].price is None for name, count in counts.items())
    answer, highest = _answering(laid_out, how), (0.0, "")
    for trial in laid_out.trials:
        made = [] if free else asked(laid_out.instrument, trial, answer)
        by: dict[str, list[Request]] = {trial.subject.name: []}
        for request in made:
            by.setdefault(request.subject.name, []).append(request)
        again = {name: counts[name].add(requests) for name, requests in by.items()}
        least, all_told = how.calls(trial)
        calls = max(least, len(made))
        counts[trial.subject.name].calls += calls - len(made)
        dearest = max(again, key=lambda name: again[name])
        more = max(all_told - calls, 0)
        counts[dearest].may_add(more, (more + calls - len(made)) * again[dearest])
        highest = max(highest, (again[dearest], dearest))
    over = most - sum(count.calls + count.more for count in counts.values())
    if over > 0 and highest[1]:
        counts[highest[1]].may_add(over, over * highest[0])
    return [count.estimate(name, prices[name]) for name, count in counts.items()]


def everyone(laid_out: Study) -> list[Subject]:
    """The subjects of a run and those asked beside them, each once."""
    subjects = [Subject(**s) for s in laid_out.registration.subjects]
    return list({s.name: s for s in (*subjects, *laid_out.others)}.values())


def _answering(laid_out: Study, how: Handling) -> Answer:
    """Answers everyone a run asks as the first planted subject does that takes such a question."""
    answers: dict[str, Answer] = {}

    def answer(request: Request) -> str | Completion:
        name = request.subject.name
        for trait in how.traits if name not in answers else ():
            answers[name] = how.planted(laid_out, planted.subject(trait))
            try:
                return answers[name](request)
            except Misuse:
                continue
        return answers[name](request)

    return answer


def asked(
    instrument: Instrument[Any], trial: Trial, answer: Answer
) -> list[Request]:
    """The requests a trial makes of its subject, were they answered so; nothing is sent."""
    made: list[Request] = []

    async def ask(
        stage: str, messages: Iterable[Message], *, mode: AnswerMode = "free",
        choices: Sequence[str] = (), schema: str = "", by: Subject | None = None,
    ) -> Completion:
        subject = by or trial.subject
        made.append(dialect(subject.dialect).encode(subject, tuple(messages), mode, choices,
                                                    schema))
        said = answer(made[-1])
        if isinstance(said, Completion):
            return said
        return Completion(said, first_token=((said, 0.0),) if mode == "first-token" else ())

    coroutine: Any = instrument.conduct(trial, ask)
    try:
        coroutine.send(None)
    except StopIteration:
        return made
    raise TypeError(f"{trial.instrument} awaits something other than ask")


class _Count:
    """One subject's sums, trial by trial."""

    def __init__(self, price: Price | None, usual: float, like: Measured | None) -> None:
        self.billed = price if price is not None and not price.free else None
        self._usual, self._like = usual, like
        self.calls = self.more = 0
        self._prompt = self._completion = self._low = self._expected = self._worst = 0.0

    def add(self, requests: list[Request]) -> float:
        """A trial's requests; what one more beside them can cost at most."""
        self.calls += len(requests)
        for request in requests:
            self._expect(request)
        if not self.billed or not requests:
            return 0.0
        worst, again = _worst(self.billed, requests)
        self._worst += worst
        return again

    def may_add(self, calls: int, usd: float) -> None:
        """So many more calls at most, and what they can cost."""
        self.more += calls
        self._worst += usd

    def _expect(self, request: Request) -> None:
        reply = self._like.completion if self._like else self._usual
        said = sum(m.role == "assistant" for m in request.messages)
        tokens = prompt_tokens(m for m in request.messages if m.role != "assistant")
        tokens += said * (MESSAGE_TOKENS + reply)
        prompt = self._like.prompt if self._like else tokens
        if request.mode == "first-token":
            reply = 1
        elif self.billed:
            reply = min(reply, allowed(request.body)[0])
        self._prompt += prompt
        self._completion += reply
        if self.billed:
            self._low += self.billed.of(min(tokens, prompt) / 2, 1)
            self._expected += self.billed.of(prompt, reply)

    def estimate(self, name: str, priced: Priced) -> Estimate:
        known = priced.price is not None
        return Estimate(
            name, priced, self.calls, self.calls + self.more, self._prompt, self._completion,
            self._low if known else None, self._expected if known else None,
            max(self._worst, self._expected) if known else None,
        )


def _worst(price: Price, requests: list[Request]) -> tuple[float, float]:
    """The most a trial's calls can cost, and the most that one more of them can.

    A later stage may hold earlier replies twice: as a turn, and quoted. A correction holds its
    stage's prompt and reply, and a prompt of its own that is no longer than the stage's.
    """
    bounds = []
    for place, request in enumerate(requests):
        tokens, tools = allowed(request.body)
        quoted = 2 * REPLY_BYTES * tokens if place else 0
        bounds.append((len(request.body) + TOOL_TOKENS * tools + quoted, tokens))
    sent, tokens = max(bounds)
    again = price.at_most(2 * sent + REPLY_BYTES * tokens, tokens)
    return sum(price.at_most(*bound) for bound in bounds), again


def measured(ledger: Ledger, run: Run) -> dict[str, Measured]:
    """The tokens that an earlier run's replies state, by subject; under "" over all of them."""
    sums: dict[str, tuple[int, int, int]] = {}
    for sent in ledger.calls(run.seq):
        if sent.reply is None:
            continue
        found = usage_of(sent.subject, sent.reply)
        if not found.prompt or found.completion is None:
            continue
        for name in ("", sent.subject.name):
            n, prompt, completion = sums.get(name, (0, 0, 0))
            sums[name] = (n + 1, prompt + found.prompt, completion + found.completion)
    return {name: Measured(prompt / n, completion / n)
            for name, (n, prompt, completion) in sums.items()}
