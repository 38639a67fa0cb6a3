"""Engines of a person's own, one engine against another, and what people choose between them."""

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.cli.replay import HANDLING
from equipoise.cli.running import read_run
from equipoise.cli.studies import first_question
from equipoise.cli.subject_file import read
from equipoise.cli.subjects import subject
from equipoise.instruments.replay.arms import Arm, engine_turn
from equipoise.instruments.replay.battles import battles, chosen
from equipoise.instruments.replay.contract import Written, engine_answer, own_answer
from equipoise.instruments.replay.page import Line, Page, edited, page
from equipoise.instruments.replay.suite import SHIPPED, Moment, suite
from equipoise.instruments.replay.whole_page import edits_to
from equipoise.ledger import Ledger
from equipoise.providers import callables, dialect
from equipoise.stimuli import load
from equipoise.terms import Completion, Fault, Misuse, Nonresponse, Reply, Request, user
from faulty_server import response, serving_in_a_thread

SUITE = suite(load(SHIPPED))
PAGE = page([("Why now?", ""), ("Who says so?", "My uncle.")], "A year's rent.")
DOCS = (Path(__file__).parents[1] / "docs/replay.md").read_text(encoding="utf-8")
ALONE = SUITE.biases["single-option"].debias["en"]
THERE = [key for key, o in SUITE.openings.items() if o.language == "en"
         and "single-option" in o.present]
FEW = ",".join(THERE[:3])
PLANTED = ("--reader", "planted:perfect", "--draws", 1, "--openings", FEW)


def told(**said):
    return own_answer(PAGE)(Completion(json.dumps({"reply": "Yes.", **said}))).value


# A whole page in place of edits


def test_a_whole_page_comes_to_the_page_it_says():
    found = told(page={"at_stake": "The lease.", "lines": [
        {"line": 2, "text": "Who says so?", "answer": "My uncle."},
        {"text": "Why now?", "answer": "The lease ends."}, {"text": "By when?"}]})
    after = edited(PAGE, found.edits)
    assert after == Page((Line(1, "Why now?", "The lease ends."),
                          Line(2, "Who says so?", "My uncle."), Line(3, "By when?")),
                         "The lease.", 3)


def test_a_line_of_a_whole_page_keeps_its_number_where_it_is_worded_otherwise_or_opened_again():
    found = told(page={"at_stake": "A year's rent.", "lines": [
        {"line": 2, "text": "Who else says so?"}]})
    assert edited(PAGE, found.edits) == Page((Line(2, "Who else says so?"),), "A year's rent.", 2)


def test_a_page_as_it_stood_is_no_edit():
    same = {"at_stake": PAGE.at_stake, "lines": [
        {"line": x.number, "text": x.text, "answer": x.answer} for x in PAGE.lines]}
    assert told(page=same).edits == ()


@pytest.mark.parametrize("said, problem", [
    ({}, "either 'edits' or 'page'"), ({"edits": [], "page": {}}, "either 'edits' or 'page'"),
    ({"page": []}, "'page' is to be an object"), ({"page": {}}, "no list of 'lines'"),
    ({"edits": "none"}, "'edits' is to be a list"),
    ({"page": {"lines": [{"line": 9, "text": "x"}]}}, "'line' is 9, and there is no such line"),
    ({"page": {"lines": [{"line": True, "text": "x"}]}}, "'line' is True"),
    ({"page": {"lines": [{"line": [], "text": "x"}]}}, "'line' is []"),
    ({"page": {"lines": [{"line": 1, "text": "x"}, {"line": 1, "text": "y"}]}}, "there 2 times"),
    ({"page": {"lines": [{"text": " "}]}}, "'text' is missing or empty"),
    ({"page": {"lines": ["Why?"]}}, "is to be an object"),
    ({"page": {"lines": [{"text": "x" * 1001}]}}, "longer than 1000"),
    ({"page": {"lines": [{"text": "x", "answer": None}]}}, "'answer' is to be a text"),
    ({"page": {"lines": [], "at_stake": 5}}, "'at_stake' is to be a text"),
    ({"page": {"lines": [{"text": f"q{n}"} for n in range(50)]}}, "at most 40"),
    ({"edits": [{"op": "drop", "line": 9}]}, "there is no such line"),
])
def test_a_whole_page_that_does_not_fit_is_invalid_and_says_why(said, problem):
    value = told(**said)
    assert isinstance(value, Nonresponse) and value.kind == "invalid" and problem in value.detail


def test_every_problem_of_a_whole_page_is_named_at_once():
    value = told(page={"lines": [{"text": ""}, {"line": 7, "text": "x"}]})
    assert "line 1 of the page" in value.detail and "line 2 of the page" in value.detail


def test_a_prompted_engine_gives_edits_and_no_page():
    said = Completion(json.dumps({"reply": "Yes.", "page": {"lines": []}}))
    assert isinstance(engine_answer(PAGE)(said).value, Nonresponse)


TEXTS = st.text("abc", min_size=1, max_size=2)
LINES = st.lists(st.tuples(TEXTS, st.text("xy", max_size=1)), max_size=6)


@given(LINES, LINES, st.data())
def test_the_edits_to_a_page_lead_to_it(lines, wanted, data):
    before = page(lines, "now")
    said, free = [], [line.number for line in before.lines]
    for text, answer in wanted:
        number = data.draw(st.sampled_from([0, *free]))
        free = [n for n in free if n != number]
        said.append({"text": text, "answer": answer, **({"line": number} if number else {})})
    after = edited(before, edits_to(before, {"at_stake": "then", "lines": said}))
    assert sorted((x.text, x.answer) for x in after.lines) == sorted(wanted)
    assert after.at_stake == "then"
    for line in said:
        if "line" in line:
            assert after.line(line["line"]).text == line["text"]


# What goes out and comes back


def a_turn():
    opening = SUITE.openings[THERE[0]]
    return engine_turn(SUITE, Arm(rules=("One question.",), dropped=("thinking",)),
                       Moment(opening, opening.page, opening.earlier, opening.turns[0]), ())


def test_the_turn_is_the_whole_body_byte_for_byte():
    turn = a_turn()
    mine = subject("endpoint:mine@https://a.example/turn?family=none", HANDLING)
    request = dialect("endpoint").encode(mine, [user(turn)], "free", (), "")
    assert request.body == turn.encode()
    said = json.loads(request.body)
    assert said["instructions"] == ["One question."] and said["dropped"] == ["thinking"]
    assert dialect("endpoint").url(mine.base_url, mine.model) == "https://a.example/turn"


def test_a_lone_surrogate_in_a_turn_is_escaped_and_not_lost():
    request = dialect("endpoint").encode(
        subject("endpoint:mine@https://a.example/turn?family=none", HANDLING),
        [user('{"said": "\ud800"}')], "free", (), "")
    assert json.loads(request.body)["said"] == "\ud800"


@pytest.mark.parametrize("body, status, kind", [
    (b"{}", 500, "server error"), (b"{}", 401, "auth"), (b"{}", 404, "not found"),
    (b"<html>", 200, "malformed"), (b"[]", 200, "malformed"), (b'"x"', 200, "malformed"),
    (b"", 200, "malformed"), (b'{"reply": "\xff"}', 200, "malformed"),
    (b"[" * 100_000, 200, "malformed"), (b'{"error": "overloaded"}', 200, "server error"),
])
def test_what_is_no_answer_of_an_engine_is_a_fault(body, status, kind):
    found = dialect("endpoint").decode(Reply(body, status))
    assert isinstance(found, Fault) and found.kind == kind


def test_an_engine_may_say_its_tokens_and_more_than_is_read():
    found = dialect("endpoint").decode(Reply(json.dumps({
        "reply": "Yes.", "edits": [], "usage": {"prompt_tokens": 7, "completion_tokens": -1},
        "trace": [float("nan")]}).encode()))
    assert (found.usage.prompt, found.usage.completion) == (7, None)
    assert isinstance(own_answer(PAGE)(found).value, Written)


@pytest.mark.parametrize("spec, problem", [
    ("endpoint:mine@https://a.example", "which family"), ("endpoint:mine?family=x", "no address"),
    ("endpoint:mine@https://a.example?family=x&temperature=1", "Leave temperature out"),
    ("endpoint:mine@https://me:pw@a.example?family=x", "holds a name or password"),
    ("callable:nowhere:turn?family=none", "cannot be imported"),
    ("callable:json?family=none", "names no function"),
    ("callable:json:turn?family=none", "has no function 'turn'"),
    ("callable:math:sqrt?family=none", "no source file"),
    ("callable:json:loads?family=none&key_env=K", "Leave key_env out"),
])
def test_an_engine_that_cannot_be_asked_is_refused_and_says_why(spec, problem):
    with pytest.raises(Misuse, match=problem):
        subject(spec, HANDLING)


def test_engines_stand_in_a_file_of_subjects_too(tmp_path):
    file = tmp_path / "subjects.toml"
    file.write_text('[[subject]]\nroute = "endpoint"\nmodel = "mine"\nfamily = "none"\n'
                    'base_url = "https://a.example/turn/"\nkey_env = "MINE"\n'
                    '[[subject]]\nroute = "callable"\nmodel = "json:loads"\nfamily = "none"\n')
    one, other = (listed.subject for listed in read(file, HANDLING))
    assert (one.base_url, one.engine) == ("https://a.example/turn/", {"key_env": "MINE"})
    assert len(other.engine["source"]) == 64


def test_no_other_instrument_asks_an_engine_and_no_reader_is_one(equipoise):
    code, _, err = equipoise("plan", "fingerprint", "-s", "callable:json:loads?family=none")
    assert code == 2 and "Only replay" in err
    code, _, err = equipoise("plan", "replay", "-s", "planted:same", "--change", "rule:x",
                             "--reader", "callable:json:loads?family=none")
    assert code == 2 and "Only replay asks it, as an engine" in err
    code, _, err = equipoise("plan", "replay", "-s", "callable:json:loads?family=none",
                             "--change", "rule:x", *PLANTED, "--answers", "constrained")
    assert code == 2 and "cannot be asked for constrained" in err


# A function


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module of its own name in this folder; gives back its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    made = []

    def write(text, name=None):
        name = name or f"engine_{tmp_path.name}_{len(made)}".replace("-", "_")
        (tmp_path / f"{name}.py").write_text(text)
        made.append(name)
        return name

    yield write
    for name in made:
        sys.modules.pop(name, None)


def asked(name, text='{"said": "Hm."}', seconds=300.0, times=1):
    """What a function of that name gives back to one turn, or to several at once."""

    async def ask():
        spec = f"callable:{name}?family=none"
        of = subject(spec, HANDLING)
        async with callables.answering(name, of.engine["source"], seconds) as provider:
            request = Request(of, (user(text),), body=text.encode())
            return await asyncio.gather(*(provider(request) for _ in range(times)))

    found = asyncio.run(ask())
    return found[0] if times == 1 else found


def test_a_function_is_given_the_turn_and_its_dict_is_the_reply(module):
    name = module("def turn(given):\n    return {'reply': given['said'], 'edits': []}")
    assert asked(f"{name}:turn").body == b'{"edits": [], "reply": "Hm."}'


def test_an_async_function_runs_on_one_loop_of_its_own_and_several_at_a_time(module):
    name = module("import asyncio, threading\nlock = None\nasync def turn(given):\n"
                  "    global lock\n    lock = lock or asyncio.Barrier(3)\n    await lock.wait()\n"
                  "    return {'reply': threading.current_thread().name, 'edits': []}")
    found = {json.loads(reply.body)["reply"] for reply in asked(f"{name}:turn", times=3)}
    assert len(found) == 1 and found != {"MainThread"}


@pytest.mark.parametrize("body, kind, detail", [
    ("raise ValueError('no such\\nthing')", "rejected", "ValueError: no such thing"),
    ("raise SystemExit(3)", "rejected", "SystemExit: 3"),
    ("raise TimeoutError", "server error", "TimeoutError"),
    ("return {1, 2}", "rejected", "TypeError: Object of type set is not JSON serializable"),
    ("return float('nan')", "rejected", "ValueError"),
])
@pytest.mark.parametrize("kind_of", ["def", "async def"])
def test_an_exception_is_a_fault_with_its_type_and_message_and_no_traceback(
    module, capfd, kind_of, body, kind, detail
):
    name = module(f"{kind_of} turn(given):\n    {body}")
    found = asked(f"{name}:turn")
    assert (found.kind, found.transient) == (kind, kind == "server error")
    assert detail.split(":")[0] in found.detail and "Traceback" not in capfd.readouterr().err
    if kind_of == "def":
        assert found.detail.startswith(detail)


def test_what_a_function_prints_goes_to_stderr(module, capsys):
    name = module("print('hello from the module')\n"
                  "def turn(given):\n    print('hello from the turn')\n    return {}")
    asked(f"{name}:turn")
    said = capsys.readouterr()
    assert said.out == "" and "hello from the module" in said.err and "the turn" in said.err


def test_a_function_that_does_not_come_back_is_unknown(module):
    name = module("import time\ndef turn(given):\n    time.sleep(0.5)")
    found = asked(f"{name}:turn", seconds=0.02)
    assert found.kind == "unknown" and found.sent


def test_a_key_of_the_environment_that_a_function_gives_away_is_struck_out(module, monkeypatch):
    monkeypatch.setenv("MY_MODEL_KEY", "sk-0123456789abcdef")
    name = module("import os\ndef turn(given):\n    raise ValueError(os.environ['MY_MODEL_KEY'])")
    found = asked(f"{name}:turn")
    assert "0123456789" not in found.detail and "struck out" in found.detail


def test_a_changed_source_is_another_subject_and_is_not_asked_for_the_old_one(module):
    name = module("def turn(given):\n    return {}")
    old = subject(f"callable:{name}:turn?family=none", HANDLING)
    Path(f"{name}.py").write_text("def turn(given):\n    return {'reply': 'x'}")
    new = subject(f"callable:{name}:turn?family=none", HANDLING)
    assert old.stamp != new.stamp

    async def ask():
        async with callables.answering(old.model, old.engine["source"]):
            pass

    with pytest.raises(Misuse, match="registered"):
        asyncio.run(ask())


# The examples of the page


def example(place):
    return re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)[place]


def test_the_examples_are_about_twenty_lines():
    for place in (0, 1):
        assert len([line for line in example(place).splitlines() if line.strip()]) <= 20


@contextmanager
def served(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "my_server.py", str(port)], cwd=folder,
                              stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        server.kill()
        server.wait()


def test_both_examples_run_through_replay_and_the_change_is_found(equipoise, module, tmp_path):
    module(example(0), "my_engine")
    (tmp_path / "my_server.py").write_text(example(1))
    change = ("--change", f"rule:{ALONE}", *PLANTED, "--max-calls", 5000, "--yes", "--json")
    found = []
    with served(tmp_path) as port:
        for spec in ("callable:my_engine:turn?family=none&name=e",
                     f"endpoint:e@http://127.0.0.1:{port}/?family=none"):
            name = spec[:8]
            code, _, err = equipoise("plan", "replay", "-s", spec, *change[:-4])
            assert code == 0, err
            assert "Registration" in _
            code, out, err = equipoise("run", "replay", "-s", spec, *change, "--run", name)
            assert code == 0, err
            found.append(json.loads(out)["comparisons"][0])
            # On record: the same command asks nothing, and a sample asked again is equal.
            code, _, err = equipoise("run", "replay", "-s", spec, *change, "--run", name)
            assert code == 0 and err.splitlines()[-2].startswith("0 calls")
            code, out, err = equipoise("replay-check", name, "--sample", 2, "--max-calls", 500,
                                       "--yes")
            assert code == 0 and "2 of 2" in out, err
    one, other = found
    assert one["verdict"]["wins"] == len(FEW.split(",")) and one["verdict"]["losses"] == 0
    assert one["samples"] == other["samples"]


def test_an_engine_whose_function_fails_loses_its_conversations_and_names_why(equipoise, module):
    name = module("def turn(given):\n    raise KeyError('page')")
    code, out, err = equipoise(
        "run", "replay", "-s", f"callable:{name}:turn?family=none&name=broken", "--change",
        f"rule:{ALONE}", *PLANTED, "--max-calls", 5000, "--yes", "--run", "r")
    assert code in (3, 75) and "Traceback" not in err
    equipoise("report", "r", "-o", "r.html")
    assert "rejected: KeyError: &#39;page&#39;" in Path("r.html").read_text(encoding="utf-8")


def test_a_key_goes_to_the_endpoint_and_is_struck_out_of_what_comes_back(equipoise, monkeypatch):
    key = "sk-mine-0123456789"
    monkeypatch.setenv("MY_ENGINE_KEY", key)

    async def behave(got, wire):
        said = {"reply": f"I was given {got.headers['authorization']}", "edits": []}
        await wire.send(response(json.dumps(said).encode()))

    with serving_in_a_thread(behave) as server:
        spec = f"endpoint:e@http://127.0.0.1:{server.port}/a/b/?family=none&key_env=MY_ENGINE_KEY"
        code, _, err = equipoise("run", "replay", "-s", spec, "--change", "rule:x", *PLANTED,
                                 "--max-calls", 5000, "--yes", "--run", "r")
    assert code == 0, err
    assert server.got[0].head.startswith(b"POST /a/b/ HTTP/1.1")
    assert server.got[0].headers["authorization"] == f"Bearer {key}"
    _, out, _ = equipoise("export", "r", "--format", "jsonl")
    assert key not in out and key.encode() not in Path("ledger.db").read_bytes()
    assert {"language", "page", "said"} <= json.loads(server.got[0].body).keys()


def test_a_changed_prompt_changes_nothing_of_an_engine_that_is_given_none(equipoise, tmp_path):
    prompts = (SHIPPED / "prompts.toml").read_text(encoding="utf-8")
    (tmp_path / "changed.toml").write_text(
        prompts.replace("You help a person think", "You help someone think", 1), encoding="utf-8")
    (tmp_path / "c.toml").write_text('change = ["prompt"]\nprompt = "changed.toml"')
    code, _, err = equipoise("plan", "replay", "-s", "callable:json:loads?family=none",
                             "--comparison", "c.toml", *PLANTED)
    assert code == 2 and "is given turns and no prompt" in err


# A folder of prompts


def test_a_folder_with_prompts_alone_is_an_engine_over_the_shipped_openings(equipoise, tmp_path):
    prompts = (SHIPPED / "prompts.toml").read_text(encoding="utf-8")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/prompts.toml").write_text(
        prompts.replace("You help a person think", "You help someone think", 1), encoding="utf-8")
    said = ("-s", "planted:better", "--change", "instruction:all", *PLANTED, "--json")
    plans = [json.loads(equipoise("plan", "replay", *said, *more)[1])
             for more in ((), ("--suite", "mine"))]
    assert plans[0]["openings"] == plans[1]["openings"]
    assert plans[0]["registration"] != plans[1]["registration"]
    code, out, err = equipoise("run", "replay", *said, "--suite", "mine", "--run", "r")
    assert code == 0 and json.loads(out)["comparisons"], err


def test_a_changed_prompt_is_what_arm_b_is_asked_with(equipoise, tmp_path):
    prompts = (SHIPPED / "prompts.toml").read_text(encoding="utf-8")
    extra = "Ask nothing that is on the page."
    (tmp_path / "changed.toml").write_text(
        prompts.replace("The decision is theirs.", f"The decision is theirs. {extra}", 1),
        encoding="utf-8")
    (tmp_path / "c.toml").write_text('change = ["prompt"]\nprompt = "changed.toml"\n'
                                     'readers = ["planted:perfect"]')
    code, _, err = equipoise("run", "replay", "-s", "planted:same", "--comparison", "c.toml",
                             "--openings", FEW, "--draws", 1, "--run", "r")
    assert code == 0, err
    ledger = Ledger.open(Path("ledger.db"), read_only=True)
    _, laid_out, _ = read_run(ledger, "r")
    ledger.close()
    for trial in laid_out.trials:
        [message] = first_question(laid_out.instrument, trial)[0]
        assert (extra in message.text) == (trial.condition["arm"] == "B")


# One engine against another


def swap(tmp_path, *readers, second="planted:worse?family=beta", more=""):
    (tmp_path / "swap.toml").write_text(
        f'change = ["engine"]\nsecond = "{second}"\nreaders = {json.dumps(readers)}\n{more}')
    return ("replay", "-s", "planted:better?family=acme", "--comparison", "swap.toml")


TWO = ("planted:perfect?family=one", "planted:eight-nine?family=two")


def test_two_engines_of_two_families_are_compared_by_two_readers_of_two(equipoise, tmp_path):
    """Untold, `better` asks of three biases in ten, `worse` of nine: B's engine asks more."""
    for reader in ("perfect", "eight-nine"):
        equipoise("run", "calibration", "-s", f"planted:{reader}?family=x", "--run", reader)
        equipoise("badge", reader, "-o", f"{reader}.json")
    said = (*swap(tmp_path, *TWO), "--trust", "perfect.json", "--trust", "eight-nine.json")
    code, out, err = equipoise("plan", *said)
    assert code == 0, err
    assert "worse (family beta) against better (family acme); readers of one and two" in out
    code, out, err = equipoise("run", *said, "--draws", 1, "--run", "r", "--json")
    assert code == 0, err
    both = json.loads(out)["comparisons"]
    assert [c["reader"] for c in both] == ["perfect", "eight-nine"]
    assert all(c["verdict"]["wins"] > c["verdict"]["losses"] for c in both)
    assert both[0]["verdict"]["kind"] == "better"
    equipoise("report", "r", "-o", "r.html")
    html = Path("r.html").read_text(encoding="utf-8")
    assert "The second engine is worse, of the family beta" in html
    assert "family acme" in html and "of one family, which was taken" not in html
    code, _, err = equipoise("battle", "r", "--key", "k", "-o", "b")
    assert code == 2 and "No battle is called for" in err


def test_a_comparison_across_families_with_one_family_of_readers_is_refused(equipoise, tmp_path):
    for readers in (TWO[:1], (TWO[0], "planted:eight-nine?family=one")):
        code, _, err = equipoise("plan", *swap(tmp_path, *readers))
        assert code == 2 and "two readers of two families" in err and "one-reader = true" in err


def test_one_reader_may_be_said_to_do_and_the_plan_and_page_say_so(equipoise, tmp_path):
    said = (*swap(tmp_path, TWO[0], more="one-reader = true"), "--openings", FEW, "--draws", 1)
    code, out, err = equipoise("plan", *said)
    assert code == 0 and "one family of readers taken as enough" in out, err
    assert equipoise("run", *said, "--run", "r")[0] == 0
    equipoise("report", "r", "-o", "r.html")
    assert "of one family, which was taken as enough before the run" in Path(
        "r.html").read_text(encoding="utf-8")


def test_two_engines_of_one_family_need_one_reader(equipoise, tmp_path):
    said = swap(tmp_path, TWO[0], second="planted:worse?family=acme")
    assert equipoise("plan", *said)[0] == 0


@pytest.mark.parametrize("reader", ["planted:perfect?family=beta", "planted:perfect?family=acme"])
def test_no_reader_is_of_the_family_of_either_engine(equipoise, tmp_path, reader):
    code, _, err = equipoise("plan", *swap(tmp_path, reader, "planted:eight-nine?family=two"))
    assert code == 2 and "may not read" in err


def test_two_readers_of_one_name_are_refused(equipoise, tmp_path):
    code, _, err = equipoise("plan", *swap(tmp_path, TWO[0], "planted:perfect?family=two"))
    assert code == 2 and "Two readers have one name" in err
    named = "planted:perfect?family=two&name=second"
    assert equipoise("plan", *swap(tmp_path, TWO[0], named))[0] == 0


# Battles


@pytest.fixture
def disputed(equipoise, tmp_path):
    """A run that one reader sees a difference in, and another, which says yes to all, none."""
    said = swap(tmp_path, TWO[0], "planted:always-yes?family=two")
    some = [key for key, o in SUITE.openings.items() if len(o.present) > 1][:18]
    code, _, err = equipoise("run", *said, "--draws", 1, "--openings", ",".join(some), "--run",
                             "r")
    assert code == 0, err
    return equipoise


def rows(path):
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_a_battle_shows_two_pages_and_nothing_of_model_arm_or_reader(disputed):
    assert disputed("battle", "r", "--key", "k.jsonl", "-o", "b.jsonl", "--page", "b.html")[0] == 0
    shown, key = rows("b.jsonl"), rows("k.jsonl")
    assert len(shown) == len(key) > 10
    assert {k["left"] for k in key} == {"A", "B"}
    for one in shown:
        assert one.keys() == {"battle", "language", "question", "earlier", "said", "left", "right"}
        assert one["left"].keys() == one["right"].keys() == {"at_stake", "lines"}
    for name in ("b.jsonl", "b.html"):
        text = Path(name).read_text(encoding="utf-8")
        assert not re.search(r"acme|beta|planted|always-yes|eight-nine|\"(arm|draw|A|B)\"", text)
        assert text.count('battle-01"') == 2 - (name == "b.jsonl")
    for one, of in zip(shown, key, strict=True):
        assert one["question"] == SUITE.openings[of["opening"]].question
        assert len(set(of["signs"].values())) > 1


def test_another_seed_turns_sides_and_the_same_one_none(disputed):
    sides = []
    for place, seed in enumerate((1, 1, 2)):
        disputed("battle", "r", "--key", f"k{place}", "-o", f"b{place}", "--seed", seed)
        sides.append([(k["opening"], k["left"]) for k in rows(f"k{place}")])
    assert sides[0] == sides[1] and sides[0] != sides[2]
    assert sorted(o for o, _ in sides[0]) == sorted(o for o, _ in sides[2])


def test_choices_join_back_to_the_arm_they_are_of(disputed):
    disputed("battle", "r", "--key", "k.jsonl", "-o", "b.jsonl")
    key = rows("k.jsonl")

    def side(of, arm):
        return "left" if of["left"] == arm else "right"

    # Eight for B, one for A, one the same, one split, the rest wait: 9 that differ, p = 20/512.
    arms = ["B"] * 8 + ["A"]
    said = [{"battle": k["battle"], "by": "ann", "choice": side(k, arm)}
            for k, arm in zip(key, arms, strict=False)]
    said += [{"battle": key[9]["battle"], "by": "ann", "choice": "same"},
             {"battle": key[10]["battle"], "by": "ann", "choice": "left"}]
    # Of a person the last counts.
    said = [{**said[0], "choice": side(key[0], "A")}, *said]
    Path("ann").write_text("\n".join(map(json.dumps, said)))
    Path("bob").write_text(json.dumps(
        {"battle": key[10]["battle"], "by": "bob", "choice": "right"}))
    code, out, err = disputed("battle", "r", "--key", "k.jsonl", "--answers", "ann", "--answers",
                              "bob", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["B"], found["A"], found["same"], found["split"]) == (8, 1, 1, 1)
    assert found["waiting"] == len(key) - 11 and found["people"] == 2
    assert found["p"] == 20 / 512
    code, out, _ = disputed("battle", "r", "--key", "k.jsonl", "--answers", "ann")
    assert "people found B's page better in" in out and "(1 person)" in out


def test_files_of_choices_that_do_not_fit_are_refused(disputed):
    disputed("battle", "r", "--key", "k.jsonl", "-o", "b.jsonl")
    code, _, err = disputed("battle", "r", "--key", "k.jsonl", "-o", "other.jsonl")
    assert code == 2 and "would be written over" in err
    for text, problem in (('{"battle": "battle-01", "by": "a", "choice": "B"}', "is no choice"),
                          ('{"battle": "battle-99", "by": "a", "choice": "left"}', "no choice"),
                          ('{"battle": "battle-01"}', "does not hold"), ("x", "does not hold")):
        Path("said").write_text(text)
        code, _, err = disputed("battle", "r", "--key", "k.jsonl", "--answers", "said")
        assert code == 2 and problem in err
    code, _, err = disputed("battle", "other", "--key", "k.jsonl", "--answers", "said")
    assert code == 2 and "is the key of r" in err
    assert disputed("battle", "r", "--key", "k.jsonl")[0] == 2


def test_a_battle_of_which_everyone_says_the_same_is_a_tie_and_no_p():
    found = chosen({"b1": "A"}, {("b1", "a"): "same", ("b1", "b"): "same"})
    assert (found.a, found.b, found.test.ties, found.test.p) == (0, 0, 1, 1.0)


def test_readers_that_agree_leave_no_battle():
    assert battles(SUITE, (), (), "1") == []
