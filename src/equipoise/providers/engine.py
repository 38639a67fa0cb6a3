"""The local engine: runs weights as an OpenAI-compatible server for as long as a block lasts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import IO, Any

from equipoise.providers.weights import STORAGE, Weights
from equipoise.terms import Misuse

START = "from equipoise.providers import engine; engine.host()"
PATIENCE = 5.0


def engine_version() -> str:
    """The engine's name and version; raises Misuse where it is not installed."""
    try:
        return f"xllamacpp {metadata.version('xllamacpp')}"
    except metadata.PackageNotFoundError:
        raise Misuse(
            "xllamacpp, which runs local models, is not installed. Wanted the extra that brings "
            "it. Run `pip install 'equipoise[local]'`."
        ) from None


def threads() -> int:
    """How many threads the engine computes with: half the cores, or as EQUIPOISE_THREADS says.

    Its threads spin where they wait for each other: with as many as there are cores, any other
    busy process slows every token by an order of magnitude.
    """
    if (said := os.environ.get("EQUIPOISE_THREADS", "")).isdigit():
        return max(1, int(said))
    return max(1, usable_cores() // 2)


def usable_cores() -> int:
    """How many cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Engine:
    """How weights are run: every setting that can move an answer without being sent.

    `context` is in tokens and shared by the slots, `batch` in tokens of prompt evaluated at
    once. `seed` is what a request gets that states none. The number of threads is not here: it
    moved no reply in trials, and a registration should mean the same on another machine.
    """

    context: int = 2048
    slots: int = 1
    prompt_cache: bool = True
    flash_attention: bool = True
    batch: int = 512
    seed: int = 0
    version: str = field(default_factory=engine_version)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def engine_of(weights: Weights, engine: Engine) -> dict[str, Any]:
    """What a subject's `engine` holds: the settings, and the weights by their hash."""
    return {"weights": weights.sha256, **engine.as_json()}


@contextmanager
def serve(weights: Weights, engine: Engine | None = None) -> Iterator[str]:
    """Runs the weights and yields the base URL, ending in /v1, on a free port of this machine.

    The server is gone when the block ends, also with requests in flight, and when this process
    dies. Raises Misuse where the engine cannot run them.
    """
    # A process of its own: inside ours, closing it with a request in flight never returns,
    # and a crash in it would take the run along.
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-c", START], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=log, env=os.environ | {"PYTHONWARNINGS": "ignore"}, start_new_session=True,
        )
        try:
            yield f"{address(process, order(weights, engine or Engine()), log, weights)}/v1"
        finally:
            stop(process)


def order(weights: Weights, engine: Engine) -> bytes:
    said = {"path": str(weights.path.resolve()), "name": weights.name, "engine": engine.as_json()}
    return json.dumps(said).encode() + b"\n"


def address(
    process: subprocess.Popen[bytes], said: bytes, log: IO[bytes], weights: Weights
) -> str:
    """Where the server listens, once it does; raises Misuse if it ends before that."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(said)
        process.stdin.flush()
        line = process.stdout.readline().decode()
    except BrokenPipeError:
        line = ""
    if line.startswith("http://"):
        return line.strip()
    raise Misuse(
        f"The engine could not run {weights.path}: {reason(process, log)}. Wanted a whole GGUF "
        "file of a kind it knows, and memory enough for it. Try another file or a smaller "
        "context; `equipoise doctor` checks the engine itself.", STORAGE
    )


def reason(process: subprocess.Popen[bytes], log: IO[bytes]) -> str:
    """Why the engine ended: the signal that killed it, or the first error it wrote."""
    code = process.wait(PATIENCE)
    if code < 0:
        return f"it died of {signal.Signals(-code).name}"
    log.seek(0)
    lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
    # Its log lines are "time E origin: what"; a Python error is the last line of a traceback.
    logged = [line.split(" E ", 1)[1] for line in lines if " E " in line]
    return " ".join([*logged, *lines[-1:], f"it ended with {code}"][0].split())


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the server: it leaves when its input closes, and is killed if it does not."""
    assert process.stdin is not None and process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    process.stdout.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def host() -> None:
    """The server's own process: reads its order, says where it listens, lasts as its input does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    said = json.loads(sys.stdin.buffer.readline())
    import xllamacpp

    # Held for its life only: the server stops when nothing refers to it.
    server = xllamacpp.Server(parameters(xllamacpp, said["path"], said["name"], said["engine"]))
    print(server.listening_address, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


def parameters(xllamacpp: Any, path: str, name: str, engine: dict[str, Any]) -> Any:
    """The engine's own parameters: the stated settings, and those that cannot move an answer."""
    flash = xllamacpp.llama_flash_attn_type
    p = xllamacpp.CommonParams()
    p.model.path, p.model_alias = path, {name}
    p.n_ctx, p.n_parallel = engine["context"], engine["slots"]
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = threads()
    p.cache_prompt = engine["prompt_cache"]
    p.flash_attn_type = (
        flash.LLAMA_FLASH_ATTN_TYPE_ENABLED if engine["flash_attention"]
        else flash.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )
    p.n_batch = p.n_ubatch = engine["batch"]
    p.sampling.seed = engine["seed"]
    p.n_gpu_layers = 0
    p.fit_params = False  # It would make the context smaller where memory is short.
    p.cache_ram_mib = 0  # It keeps prompts that have left the slots; cells share theirs in order.
    p.warmup = p.ui = p.endpoint_slots = False
    p.cors_origins = ""  # No web page may ask it.
    p.verbosity = 1  # Errors only.
    return p
