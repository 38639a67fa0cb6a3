"""Both batch interfaces over real sockets, as they are documented, misbehaving as told.

What it computes for a request counts as paid. It runs in a thread of its own, so that a command
can be run against it, and killed.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from equipoise.providers import planted
from equipoise.terms import Completion, Message, Request

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
HANDED_IN, ENDED = "validating", ("completed", "failed", "expired", "cancelled")


@dataclass
class Script:
    """What goes wrong. Numbers count how often it does, before all is well; places are a
    request's in its batch, from 0."""

    looks: int = 2
    """Looks at a batch until it has ended."""
    ends: str = "completed"
    then: str = ""
    """How every batch after the first ends, where not like it."""
    unrun: Callable[[int], bool] = lambda place: place % 2 == 1
    """Which requests were not run, where a batch expired or was cancelled."""
    unsaid: bool = False
    """Whether those have no line."""
    failing: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Requests that the model refused: place to status and type."""
    missing: set[int] = field(default_factory=set)
    doubled: set[int] = field(default_factory=set)
    differing: set[int] = field(default_factory=set)
    strange: int = 0
    rehashed: set[int] = field(default_factory=set)
    errors: list[dict[str, Any]] = field(default_factory=list)
    """Why a batch failed validation."""
    early: int = 0
    """Looks at a new batch that find none."""
    unseen_results: int = 0
    unseen_file: int = 0
    limited: int = 0
    limited_creations: int = 0
    creating: float = 0.0
    """Seconds a creation takes."""
    down: int = 0
    reset: list[str] = field(default_factory=list)
    """Creations whose connection breaks: `before` the batch is made, or `after`."""
    down_creation: list[str] = field(default_factory=list)
    unlisted: int = 0
    """Lists that do not show the newest batch."""
    lists_down: int = 0
    page: int = 100
    """The most batches that a list shows at once."""
    broken: int = 0
    """Downloads that break off in the middle of the results."""
    refused_key: int = 0
    """Looks that refuse the key."""
    echo: bool = False
    """Whether replies hold the key."""
    hold: str = ""
    """The step at which nothing is answered until `go` is set: see `Double.at`."""


@dataclass
class Double:
    """What came, what was made, and what was paid."""

    answer: Callable[[Request], Any]
    script: Script
    port: int = 0
    key: str = ""
    keys: set[str] = field(default_factory=set)
    """The keys that came, in whatever header."""
    reached: threading.Event = field(default_factory=threading.Event)
    went: list[tuple[str, float]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    paid: Counter[str] = field(default_factory=Counter)
    """Requests computed, by their bodies."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def created(self) -> int:
        return len(self.batches)

    async def at(self, step: str) -> None:
        """Stand still at a step that the script names, so that a client can be killed there."""
        self.went.append((step, time.monotonic()))
        if self.script.hold == step:
            self.reached.set()
            await asyncio.sleep(3600)

    def _take(self, name: str) -> bool:
        """Whether this goes wrong once more."""
        left = getattr(self.script, name)
        if left:
            setattr(self.script, name, left - 1)
        return bool(left)

    @web.middleware
    async def keyed(self, request: web.Request, handler: Any) -> web.StreamResponse:
        said = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.keys.add(said or request.headers.get("x-api-key", ""))
        answer: web.StreamResponse = await handler(request)
        return answer

    # What both have.

    def _make(self, requests: list[dict[str, Any]], token: str, form: str) -> dict[str, Any]:
        number = len(self.batches) + 1
        name = f"batch_{number}" if form == "openai" else f"msgbatch_{number:02}"
        batch = {"id": name, "requests": requests, "looks": 0, "token": token, "form": form,
                 "at": time.time(), "early": self.script.early, "ended": False}
        self.script.early = 0
        self.batches[name] = batch
        return batch

    async def _look(self, batch: dict[str, Any]) -> None:
        batch["looks"] += 1
        if batch["looks"] >= self.script.looks and not batch["ended"]:
            batch["ended"], batch["ends"] = True, self.script.ends
            self._run(batch)
            self.script.ends = self.script.then or self.script.ends

    def _run(self, batch: dict[str, Any]) -> None:
        """Compute what the batch runs, and lay its result lines out, in no order."""
        ok, bad, script = [], [], self.script
        if script.ends == "failed":
            batch |= {"ok": [], "bad": [], "completed": 0, "failed": 0}
            return
        cut, ran = script.ends in ("expired", "cancelled"), 0
        for place, asked in enumerate(batch["requests"]):
            name = asked["custom_id"]
            if place in script.rehashed:
                name = name[:-8] + "00000000"
            if cut and script.unrun(place):
                bad += [] if script.unsaid else [(name, "unrun", None)]
                continue
            if place in script.failing:
                bad.append((name, "failing", script.failing[place]))
                continue
            body, ran = self._reply(asked, batch["form"]), ran + 1
            if place in script.missing:
                continue
            ok.append((name, "ran", body))
            if place in script.doubled:
                ok.append((name, "ran", body))
            if place in script.differing:
                ok.append((name, "ran", {**body, "model": "another"}))
        ok += [(f"stranger-{n}-0", "ran", {"id": "s"}) for n in range(script.strange)]
        random.Random(7).shuffle(ok)
        random.Random(8).shuffle(bad)
        batch |= {"ok": ok, "bad": bad, "completed": ran, "failed": len(bad)}

    def _reply(self, asked: dict[str, Any], form: str) -> dict[str, Any]:
        body = asked["body" if form == "openai" else "params"]
        self.paid[json.dumps(body, sort_keys=True)] += 1
        said = self._said(body)
        text = said.text if isinstance(said, Completion) else said
        text += f" {self.key}" if self.script.echo else ""
        if "input" in body:
            return {"id": "resp_1", "object": "response", "model": body["model"], "output": [
                    {"type": "message", "role": "assistant", "status": "completed", "content": [
                        {"type": "output_text", "text": text, "annotations": []}]}],
                    "status": "completed", "usage": {"input_tokens": 11, "output_tokens": 3}}
        if form == "openai":
            return {"id": "chatcmpl-1", "object": "chat.completion", "model": body["model"],
                    "choices": [{"index": 0, "finish_reason": "stop", "message": {
                        "role": "assistant", "content": text, "refusal": None}}],
                    "usage": {"prompt_tokens": 11, "completion_tokens": 3}}
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
                "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                "stop_sequence": None, "usage": {"input_tokens": 11, "output_tokens": 3}}

    def _said(self, body: dict[str, Any]) -> Any:
        messages = []
        for m in body.get("messages") or body["input"]:
            words = m["content"]
            if not isinstance(words, str):
                words = "".join(part["text"] for part in words)
            messages.append(Message(m["role"], words))
        return self.answer(Request(planted.subject("double"), tuple(messages)))

    async def _trouble(self, request: web.Request, batch: dict[str, Any]) -> web.Response | None:
        """What a look at a batch meets before it is answered."""
        if batch["early"]:
            batch["early"] -= 1
            return web.json_response({"error": {"message": "No batch found"}}, status=404)
        if self._take("limited"):
            return web.json_response({}, status=429, headers={"Retry-After": "1"})
        if self._take("down"):
            return web.Response(status=503, text="upstream")
        if self._take("refused_key"):
            return web.json_response({"error": {"message": "bad key"}}, status=401)
        return None

    async def _doubtful(self, request: web.Request, make: Callable[[], Any]) -> web.Response:
        """Make a batch, or break the connection before or after that."""
        if self._take("limited_creations"):
            return web.json_response({}, status=429, headers={"Retry-After": "1"})
        for way in ("reset", "down_creation"):
            queue = getattr(self.script, way)
            if queue:
                when = queue.pop(0)
                if when == "after":
                    make()
                if way == "down_creation":
                    return web.Response(status=502, text="bad gateway")
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
        await self.at("creation came")
        await asyncio.sleep(self.script.creating)
        batch = make()
        await self.at("created")
        return web.json_response(self._shown(batch))

    async def _lines(self, request: web.Request, lines: list[bytes]) -> web.StreamResponse:
        if self._take("unseen_results"):
            return web.json_response({"error": {"message": "not found"}}, status=404)
        await self.at("results asked")
        whole = b"\n".join(lines) + b"\n" if lines else b""
        answer = web.StreamResponse(headers={"Content-Length": str(len(whole))})
        await answer.prepare(request)
        await answer.write(whole[: len(whole) // 2])
        await self.at("half the results")
        if self._take("broken"):
            assert request.transport is not None
            request.transport.abort()
            return answer
        await answer.write(whole[len(whole) // 2 :])
        await answer.write_eof()
        return answer

    async def _listed(self, form: str, limit: int, after: str) -> web.Response:
        if self._take("lists_down"):
            return web.Response(status=500)
        known = [b for b in reversed(list(self.batches.values())) if b["form"] == form]
        if self._take("unlisted"):
            known = known[1:]
        if after:
            known = known[[b["id"] for b in known].index(after) + 1 :]
        limit = min(limit, self.script.page)
        shown = known[:limit]
        return web.json_response({
            "object": "list", "data": [self._shown(b) for b in shown],
            "has_more": len(known) > limit,
            "first_id": shown[0]["id"] if shown else None,
            "last_id": shown[-1]["id"] if shown else None})

    def _shown(self, batch: dict[str, Any]) -> dict[str, Any]:
        return (self._openai if batch["form"] == "openai" else self._anthropic)(batch)

    # OpenAI's.

    def _openai(self, batch: dict[str, Any]) -> dict[str, Any]:
        total, ended = len(batch["requests"]), batch["ended"]
        status = batch["ends"] if ended else HANDED_IN if batch["looks"] < 1 else "in_progress"
        failed = status == "failed"
        return {
            "id": batch["id"], "object": "batch", "endpoint": "/v1/chat/completions",
            "errors": {"object": "list", "data": self.script.errors} if failed else None,
            "input_file_id": batch["file"], "completion_window": "24h", "status": status,
            # A file that there is none of is an empty name, or null.
            "output_file_id": f"out-{batch['id']}" if ended and batch["ok"] else None,
            "error_file_id": f"err-{batch['id']}" if ended and batch["bad"] else "",
            "created_at": int(batch["at"]),
            "request_counts": {
                "total": 0 if failed or status == HANDED_IN else total,
                "completed": batch["completed"] if ended else 0,
                "failed": batch["failed"] if ended else 0},
            "metadata": {"equipoise": batch["token"]},
        }

    async def upload(self, request: web.Request) -> web.StreamResponse:
        await self.at("upload came")
        form = await request.post()
        assert form["purpose"] == "batch"
        name = f"file-{len(self.files) + 1}"
        with form["file"].file as file:
            self.files[name] = file.read()
        await self.at("uploaded")
        return web.json_response({"id": name, "object": "file", "purpose": "batch"})

    async def create(self, request: web.Request) -> web.StreamResponse:
        said = await request.json()
        assert said["completion_window"] == "24h"
        assert said["endpoint"] in ("/v1/chat/completions", "/v1/responses")
        name = said["input_file_id"]
        if self._take("unseen_file"):
            return web.json_response({"error": {"message": f"Cannot find file {name}"}}, status=400)
        lines = [json.loads(line) for line in self.files[name].splitlines()]
        self._check(lines, 50_000)
        for line in lines:
            assert (line["method"], line["url"]) == ("POST", said["endpoint"])

        def make() -> dict[str, Any]:
            batch = self._make(lines, said["metadata"]["equipoise"], "openai")
            batch["file"] = name
            return batch

        return await self._doubtful(request, make)

    def _check(self, lines: list[dict[str, Any]], most: int) -> None:
        names = [line["custom_id"] for line in lines]
        assert all(NAME.fullmatch(name) for name in names)
        assert len(set(names)) == len(names) <= most

    async def look(self, request: web.Request) -> web.StreamResponse:
        batch = self.batches.get(request.match_info["id"])
        if batch is None:
            return web.json_response({"error": {"message": "No batch found"}}, status=404)
        await self.at("looked at")
        if trouble := await self._trouble(request, batch):
            return trouble
        await self._look(batch)
        if batch["ended"]:
            await self.at("ended")
        return web.json_response(self._shown(batch))

    async def list(self, request: web.Request) -> web.StreamResponse:
        return await self._listed("openai", int(request.query.get("limit", 20)),
                                  request.query.get("after", ""))

    async def content(self, request: web.Request) -> web.StreamResponse:
        kind, _, name = request.match_info["id"].partition("-")
        batch = self.batches[name]
        lines = batch["ok" if kind == "out" else "bad"]
        return await self._lines(request, [self._openai_line(batch, *line) for line in lines])

    def _openai_line(self, batch: dict[str, Any], name: str, kind: str, body: Any) -> bytes:
        response, error = None, None
        if kind == "ran":
            response = {"status_code": 200, "request_id": f"req-{name}", "body": body}
        elif kind == "failing":
            response = {"status_code": body[0], "request_id": "req", "body": {
                "error": {"message": "no", "type": body[1]}}}
        else:
            error = {"code": f"batch_{batch['ends']}", "message": "could not be executed"}
        return json.dumps({"id": "batch_req_1", "custom_id": name, "response": response,
                           "error": error}).encode()

    # Anthropic's.

    def _anthropic(self, batch: dict[str, Any]) -> dict[str, Any]:
        total, ended = len(batch["requests"]), batch["ended"]
        kinds = Counter(k for _, k, _ in (*batch["ok"], *batch["bad"])) if ended else Counter()
        rest = "canceled" if ended and batch["ends"] == "cancelled" else "expired"
        counts = {"processing": 0 if ended else total, "succeeded": kinds["ran"],
                  "errored": kinds["failing"], "canceled": 0, "expired": 0} | {
                  rest: kinds["unrun"]}
        made = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(batch["at"])) + ".123456Z"
        results = f"{self.url}/messages/batches/{batch['id']}/results"
        return {
            "id": batch["id"], "type": "message_batch", "request_counts": counts,
            "processing_status": "ended" if ended else "in_progress", "created_at": made,
            "expires_at": made, "ended_at": made if ended else None, "archived_at": None,
            "cancel_initiated_at": None, "results_url": results if ended else None,
        }

    async def create_messages(self, request: web.Request) -> web.StreamResponse:
        assert request.headers["anthropic-version"] == "2023-06-01"
        requests = (await request.json())["requests"]
        self._check(requests, 100_000)
        return await self._doubtful(request, lambda: self._make(requests, "", "anthropic"))

    async def list_messages(self, request: web.Request) -> web.StreamResponse:
        return await self._listed("anthropic", int(request.query.get("limit", 20)),
                                  request.query.get("after_id", ""))

    async def results(self, request: web.Request) -> web.StreamResponse:
        batch = self.batches[request.match_info["id"]]
        return await self._lines(request, [
            self._anthropic_line(batch, *line) for line in (*batch["ok"], *batch["bad"])])

    def _anthropic_line(self, batch: dict[str, Any], name: str, kind: str, body: Any) -> bytes:
        if kind == "ran":
            result = {"type": "succeeded", "message": body}
        elif kind == "failing":
            result = {"type": "errored", "error": {"type": "error", "request_id": "req", "error": {
                "type": body[1], "message": "no"}}}
        else:
            result = {"type": "canceled" if batch["ends"] == "cancelled" else "expired"}
        return json.dumps({"custom_id": name, "result": result}).encode()


async def _started(double: Double) -> web.AppRunner:
    app = web.Application(client_max_size=2**28, middlewares=[double.keyed])
    app.add_routes([
        web.post("/v1/files", double.upload), web.post("/v1/batches", double.create),
        web.get("/v1/batches", double.list), web.get("/v1/batches/{id}", double.look),
        web.get("/v1/files/{id}/content", double.content),
        web.post("/v1/messages/batches", double.create_messages),
        web.get("/v1/messages/batches", double.list_messages),
        web.get("/v1/messages/batches/{id}", double.look),
        web.get("/v1/messages/batches/{id}/results", double.results),
    ])
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    double.port = runner.addresses[0][1]
    return runner


async def _stopped(runner: web.AppRunner) -> None:
    await runner.cleanup()
    held = asyncio.all_tasks() - {asyncio.current_task()}
    for task in held:
        task.cancel()
    await asyncio.gather(*held, return_exceptions=True)


@contextmanager
def serving(
    answer: Callable[[Request], Any], script: Script | None = None, key: str = ""
) -> Iterator[Double]:
    """The double on a free loopback port, in a thread."""
    double, up = Double(answer, script or Script(), key=key), threading.Event()
    loop = asyncio.new_event_loop()

    def serve() -> None:
        runner = loop.run_until_complete(_started(double))
        up.set()
        loop.run_forever()
        loop.run_until_complete(_stopped(runner))
        loop.close()

    thread = threading.Thread(target=serve)
    thread.start()
    up.wait()
    try:
        yield double
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
