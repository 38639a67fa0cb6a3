"""Runs that Ray spreads over workers: the same findings, and nothing paid twice."""

import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import psutil
import pytest

from equipoise.cli.doctoring import dashboard
from equipoise.cli.spreading import SETTINGS
from equipoise.ledger import Ledger, verify
from meddling import rows
from mocked import mocked
from test_leases import CELLS, require_same

ASKED = ("fingerprint", "--suite", "demo", "--answers", "free,first-token")


@pytest.fixture
def where(server):
    return server.database()


def started(*words, **settings):
    """A command in a process of its own, begun."""
    return subprocess.Popen(
        [sys.executable, "-m", "equipoise", *map(str, words)], text=True,
        env=os.environ | SETTINGS | {"EQUIPOISE_API_KEY": "k"} | settings,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process, seconds=120):
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def workers_of(process):
    """The processes in which a command's workers run."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        try:
            if child.cmdline()[:1] == ["ray::work"]:
                found.append(child)
        except psutil.Error:
            continue
    return found


def kill_one(process, killed=()):
    """Kill one of a command's workers, a new one; returns its process id."""
    while process.poll() is None:
        for worker in workers_of(process):
            if worker.pid not in killed:
                worker.kill()
                return worker.pid
        time.sleep(0.02)
    raise AssertionError("the run was over before a worker could be killed")


def counted(where, mock, killed, in_flight):
    """What a run with killed workers left, held to what may be; returns how many are unknown."""
    ledger = Ledger.open(where, read_only=True)
    kinds = [r.kind for r in ledger.recorded(1).values()]
    ledger.close()
    attempts = rows(where, "select attempt, count(*) from entries where kind = 'intent'"
                           " group by attempt")
    unknown = kinds.count("intent")
    assert attempts == [(1, len(kinds))]
    assert kinds.count("reply") + unknown == len(kinds)
    assert unknown <= killed * in_flight
    assert kinds.count("reply") <= mock.count <= len(kinds)
    assert verify(where).faults == ()
    return unknown


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_asked_twice(where):
    with mocked(0.08) as mock:
        process = started("run", *ASKED, "--subject", mock.subject(), "--run", "r1", "--ledger",
                          where.url, "--max-calls", 400, "--yes", "--at-once", 8, "--engine", "ray",
                          "--workers", 2)
        while mock.count < 40 and process.poll() is None:
            time.sleep(0.01)
        kill_one(process)
        code, _, err = ended(process)
        unknown = counted(where, mock, 1, 8)
        assert code == (8 if unknown else 0), err
        assert "1 workers died and were replaced" in err
        ledger = Ledger.open(where, read_only=True)
        assert len(ledger.recorded(1)) == CELLS
        ledger.close()
        assert rows(where, "select count(*) from leases") == [(0,)]


@pytest.mark.soak
def test_workers_and_one_process_come_to_the_same_page_byte_for_byte(
    where, equipoise, tmp_path
):
    same_page(where, equipoise, tmp_path)


@pytest.mark.soak
def test_two_nodes_and_one_process_come_to_the_same_page_byte_for_byte(
    where, equipoise, tmp_path
):
    with two_nodes() as address:
        same_page(where, equipoise, tmp_path, "--address", address)


def same_page(where, equipoise, folder, *more):
    """Run once in one process and once spread; hold all that is made of both together."""
    subject = ("--subject", "planted:flips-coins", "--run", "r1")
    assert equipoise("run", *ASKED, *subject, "--ledger", "one.db")[0] == 0
    code, _, err = ended(started(
        "run", *ASKED, *subject, "--ledger", where.url, "--engine", "ray", "--workers", 3,
        "--at-once", 4, *more))
    assert code == 0, err
    require_same(equipoise, folder / "one.db", where)


@contextmanager
def two_nodes():
    """A Ray cluster of two nodes on this machine; its address."""
    script = (
        "import sys\n"
        "from ray.cluster_utils import Cluster\n"
        "cluster = Cluster()\n"
        "for _ in range(2):\n"
        "    cluster.add_node(num_cpus=2, include_dashboard=False, node_ip_address='127.0.0.2')\n"
        "cluster.wait_for_nodes()\n"
        "print(cluster.address, flush=True)\n"
        "sys.stdin.read()\n"
        "cluster.shutdown()\n")
    with subprocess.Popen([sys.executable, "-c", script], text=True, env=os.environ | SETTINGS,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as process:
        try:
            yield next(line for line in process.stdout if line.startswith("127.")).strip()
        finally:
            process.stdin.close()
            process.wait(60)


@pytest.mark.parametrize("words, says", [
    (("--engine", "ray", "--ledger", "l.db"), "is a file, which several machines cannot share"),
    (("--engine", "dask"), "No engine 'dask': there are process and ray."),
    (("--workers", "3"), "are options of --engine ray"),
    (("--engine", "ray", "--until-dissent", "--ledger", "postgresql://app@127.0.0.1:9/x"),
     "--until-dissent decides by all replies so far"),
])
def test_a_run_that_cannot_be_spread_is_refused_in_a_sentence(equipoise, words, says):
    code, _, err = equipoise("run", "fingerprint", "--suite", "demo", "--subject", "planted:holds",
                             *words)
    assert code == 2 and says in err


@pytest.mark.parametrize("host, said", [("127.0.0.1", "loopback"), ("0.0.0.0", "every address"),
                                        ("::1", "loopback"), ("::", "every address")])
def test_doctor_warns_of_an_open_dashboard(host, said):
    with socket.create_server(
        (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
    ) as server:
        port = server.getsockname()[1]
        found = dashboard(port)
        assert found.state == "warn" and f"listens on {said}, port {port}" in found.found
    assert dashboard(port).state == "ok"


def test_a_password_is_not_handed_from_machine_to_machine(equipoise, monkeypatch):
    monkeypatch.setenv("EQUIPOISE_LEDGER", "postgresql://app:s3cr3t@127.0.0.1:9/x")
    code, _, err = equipoise("run", "fingerprint", "--suite", "demo", "--subject", "planted:holds",
                             "--engine", "ray")
    assert code == 2 and "handed from machine to machine" in err and "s3cr3t" not in err
