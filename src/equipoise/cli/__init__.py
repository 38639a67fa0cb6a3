"""The command line: `equipoise --help` lists what it does."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import resource
import sys

from equipoise.terms import Misuse

INTERNAL, STORAGE, INTERRUPTED = 1, 6, 130


def main() -> None:
    """Run a command and end the process, without taking thousands of values apart first."""
    code: object = 0
    with contextlib.suppress(ValueError, OSError):
        # A core file would hold the keys.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    try:
        command()
    except SystemExit as ended:
        code = ended.code
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


def command() -> None:
    """Run a command; whatever goes wrong ends in a sentence on stderr and an exit code."""
    import click

    from equipoise.cli.app import app

    # A run holds many live values and makes little rubbish: with the usual thresholds the
    # collector stops the loop for 100 ms and more at a thousand calls in flight.
    _speak_utf8()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        ended = app(standalone_mode=False)
        sys.exit(ended if isinstance(ended, int) else 0)
    except click.exceptions.Abort:
        _end("Stopped.", INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Misuse as error:
        _end(str(error), error.code)
    except KeyboardInterrupt:
        _end("Stopped.", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _end(f"The result could not be written ({error.strerror or error}).", STORAGE)
    except Exception as error:
        if os.environ.get("EQUIPOISE_DEBUG"):
            raise
        _end(
            f"This is a fault of equipoise, not yours: {type(error).__name__}: {error}."
            " What is on record is safe. Set EQUIPOISE_DEBUG=1 to see where it happened.", INTERNAL
        )


def _speak_utf8() -> None:
    """Results are UTF-8 wherever they go; a terminal that cannot show a character gets its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            if not stream.isatty():
                stream.reconfigure(encoding="utf-8")


def _end(sentence: str, code: int) -> None:
    print(f"equipoise: {sentence}", file=sys.stderr)
    sys.exit(code)
