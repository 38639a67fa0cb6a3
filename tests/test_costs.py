"""What a run will cost, what it did cost, and how that stands to the provider's bill."""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from billing import Account, billing
from equipoise.cli.bills import COSTS
from equipoise.cli.estimating import prompt_tokens
from equipoise.cli.planning import plan
from equipoise.cli.pricing import given_prices
from equipoise.cli.studies import handling, study
from equipoise.cli.tallies import reply_id
from equipoise.ledger import Ledger
from equipoise.providers import planted
from equipoise.providers.prices import Price, Priced, tabled
from equipoise.terms import Message, Misuse, Request, Subject, Usage, canonical_json, user

PRICE = Price(2.0, 10.0)


def at(model, base_url, **settings):
    return tabled(Subject("s", model, "f", "openai", base_url, settings))


# Prices.


def test_a_price_is_that_of_the_host_and_the_model():
    found = at("gpt-4o-mini", "https://api.openai.com/v1")
    assert (found.price.prompt, found.price.completion, found.price.cached) == (0.15, 0.6, 0.075)
    assert found.source.startswith("genai-prices ") and "gpt-4o-mini" in found.source


@pytest.mark.parametrize(("model", "base_url"), [
    ("gpt-4o-mini", "http://127.0.0.1:8000/v1"), ("gpt-4o-mini", "https://gateway.example/v1"),
    ("no-such-model", "https://api.openai.com/v1"), ("", "https://api.openai.com/v1"),
    ("whisper-1", "https://api.openai.com/v1"), ("gpt-4o-mini", ""),
])
def test_a_host_or_a_model_that_is_not_in_the_table_has_no_price(model, base_url):
    found = at(model, base_url)
    assert found.price is None and "genai-prices" in found.source


def test_a_price_that_rises_with_the_prompt_rises_for_the_whole_call():
    price = at("gemini-2.5-pro", "https://generativelanguage.googleapis.com/v1beta").price
    assert price.tiers == ((200_000, 2.5, 15.0),)
    assert price.cost(Usage(200_000, 1000)) == pytest.approx(0.2 * 1.25 + 0.001 * 10)
    assert price.cost(Usage(200_001, 1000)) == pytest.approx(0.200001 * 2.5 + 0.001 * 15)
    assert price.at_most(200_001, 1000) == price.cost(Usage(200_001, 1000))


def test_a_price_by_the_hour_is_taken_at_its_dearest():
    subject = Subject("s", "deepseek-chat", "f", "openai", "https://api.deepseek.com/v1")
    hours = {tabled(subject, datetime(2025, 7, 1, hour, tzinfo=UTC)).price for hour in range(24)}
    assert len(hours) == 1


def test_a_priority_tier_has_its_own_price():
    usual = at("gpt-5", "https://api.openai.com/v1").price
    assert at("gpt-5", "https://api.openai.com/v1", service_tier="priority").price.prompt > (
        usual.prompt)
    assert at("gpt-5", "https://api.openai.com/v1", service_tier="flex").price.prompt < (
        usual.prompt)


def test_a_price_survives_being_written_down():
    for priced in (at("gemini-2.5-pro", "https://generativelanguage.googleapis.com/v1beta"),
                   Priced(None, "unknown"), Priced(Price(1, 2, 0.5, 0.01), "--price")):
        assert Priced.from_json(json.loads(canonical_json(priced.as_json()))) == priced


@pytest.mark.parametrize(("usage", "dollars"), [
    (Usage(1_000_000, 100_000), 3.0), (Usage(1_000_000, 100_000, reasoning=90_000), 3.0),
    (Usage(1_000_000, 100_000, cached=400_000), 2.4),
    (Usage(1_000_000, 100_000, cached=9_000_000), 1.5),
    (Usage(1_000_000, 100_000, cached=-5), 3.0),
    (Usage(1_000_000, 100_000, cost_usd=0.25), 0.25),
])
def test_thoughts_are_billed_as_replies_and_cached_tokens_at_their_own_price(usage, dollars):
    assert Price(2.0, 10.0, cached=0.5).cost(usage) == pytest.approx(dollars)


@pytest.mark.parametrize(("fields", "tokens"), [
    ({"max_tokens": 100}, 100), ({"max_completion_tokens": 100}, 100),
    ({"max_output_tokens": 100}, 100), ({"generationConfig": {"maxOutputTokens": 100}}, 100),
    ({"generationConfig": {"maxOutputTokens": 100, "candidateCount": 3}}, 300),
    ({"max_tokens": 100, "n": 4}, 400), ({"max_tokens": 100, "input": "\ud800"}, 100),
    ({"generationConfig": {"maxOutputTokens": 100}, "contents": ["\udfff"]}, 100),
])
def test_the_limit_on_tokens_is_found_in_every_dialect(fields, tokens):
    body = json.dumps({"model": "m", **fields}).encode()
    assert PRICE.worst(body) == pytest.approx((2 * len(body) + 10 * tokens) / 1e6)


def test_what_a_provider_adds_for_tools_is_in_the_worst_price():
    body = json.dumps({"max_tokens": 10, "tools": [{"name": "answer"}]}).encode()
    assert PRICE.worst(body) == pytest.approx((2 * (len(body) + 1000) + 100) / 1e6)


@pytest.mark.parametrize("said", ["1", "1,2,3,4", "a,b", "-1,2", "1,nan", "m=", "m=1", "1,inf"])
def test_what_is_no_price_is_refused(said):
    with pytest.raises(Misuse) as error:
        given_prices([said])
    assert error.value.code == 2


# The plan.

TWO = ["-s", "openai:a@http://127.0.0.1:9/v1?max_tokens=50", "-s",
       "openai:b@http://127.0.0.1:9/v1?max_tokens=50"]


def test_every_subject_has_its_own_price_and_a_planted_one_costs_nothing(equipoise):
    words = ["plan", "fingerprint", *TWO, "-s", "planted:holds", "--json"]
    said = json.loads(equipoise(*words, "--price", "1,2", "--price", "b=10,20")[1])
    a, b, holds = said["costs"]
    assert b["cost_usd"] == {k: pytest.approx(10 * v) for k, v in a["cost_usd"].items()}
    assert (holds["cost_usd"], holds["source"]) == (0, "nothing is billed")
    assert said["cost_usd"]["worst"] == pytest.approx(
        a["cost_usd"]["worst"] + b["cost_usd"]["worst"])
    assert [c["calls"] for c in said["costs"]] == [144, 144, 144] and said["calls"] == 432
    half = json.loads(equipoise(*words, "--price", "a=1,2")[1])
    assert half["cost_usd"] is None and half["costs"][1]["cost_usd"] is None
    code, _, err = equipoise(*words, "--price", "c=1,2")
    assert code == 2 and "'c'" in err and "a, b, holds" in err


def test_the_worst_cost_is_every_byte_a_token_and_every_reply_at_its_limit(equipoise):
    words = ["fingerprint", "-s", "openai:m@http://127.0.0.1:9/v1?max_tokens=50"]
    said = json.loads(equipoise("plan", *words, "--price", "1,2", "--json")[1])
    registration, stimuli = plan("fingerprint", [words[2]], "free")
    from equipoise.cli.studies import first_question
    from equipoise.providers.openai_chat import encode

    laid_out = study(registration, stimuli)
    bodies = [encode(t.subject, *first_question(laid_out.instrument, t)).body
              for t in laid_out.trials]
    assert said["cost_usd"]["worst"] == pytest.approx(
        sum(len(body) + 2 * 50 for body in bodies) / 1e6)


def test_readers_beside_the_subjects_have_their_prices_and_their_part(equipoise):
    words = ["plan", "replay", "-s", "openai:a@http://127.0.0.1:9/v1?family=x", "--reader",
             "openai:b@http://127.0.0.1:9/v1?family=y", "--change", "instruction:all", "--json"]
    said = json.loads(equipoise(*words, "--price", "1,2")[1])
    engine, reader = said["costs"]
    assert (engine["subject"], reader["subject"]) == ("a", "b")
    assert 0 < engine["cost_usd"]["expected"] < reader["cost_usd"]["expected"]
    assert sum(c["calls_most"] for c in said["costs"]) == said["calls_most"]
    only = json.loads(equipoise(*words, "--price", "a=1,2")[1])
    assert only["cost_usd"] is None and only["costs"][1]["price"] is None


def test_what_a_subjects_file_states_goes_before_the_table_and_after_the_person(
    equipoise, tmp_path
):
    (tmp_path / "who.toml").write_text(
        '[[subject]]\nname = "small"\nroute = "openai"\nmodel = "gpt-4o-mini"\n'
        "price = {prompt = 7, completion = 8, cached = 1}\n")
    words = ["plan", "fingerprint", "--subjects", tmp_path / "who.toml", "--json"]
    [stated] = json.loads(equipoise(*words)[1])["costs"]
    assert stated["source"] == "the subject's file"
    assert [stated["price"][k] for k in ("prompt", "completion", "cached")] == [7, 8, 1]
    [given] = json.loads(equipoise(*words, "--price", "1,2")[1])["costs"]
    assert given["source"] == "--price" and given["price"]["prompt"] == 1


def test_a_plan_opens_no_connection(tmp_path):
    """Any socket that is connected, bound or looked up ends the process with 99."""
    watched = (
        "import os, sys\n"
        "sys.addaudithook(lambda event, _: os._exit(99) if event in ('socket.connect',"
        " 'socket.bind', 'socket.getaddrinfo', 'socket.sendto') else None)\n"
        "from equipoise.cli import command\n"
        "try:\n    command()\n"
        "finally:\n    assert not {'uvloop', 'aiohttp'} & set(sys.modules)\n")
    done = subprocess.run(
        [sys.executable, "-c", watched, "plan", "debates", "-s", "openai:gpt-4o-mini", "--json"],
        capture_output=True, text=True, env=os.environ | {"XDG_DATA_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cost_usd"]["expected"] > 0
    assert "genai-prices" in json.loads(done.stdout)["costs"][0]["source"]


def test_help_does_not_wait_for_the_table_of_prices():
    done = subprocess.run(
        [sys.executable, "-c", "import sys\nfrom equipoise.cli import command\n"
         "try:\n    command()\nexcept SystemExit:\n    pass\n"
         "assert not {'genai_prices', 'pydantic'} & set(sys.modules)", "run", "--help"],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_prompt_s_tokens_are_counted_by_the_rule():
    assert prompt_tokens([user("a" * 40)]) == 3 + 4 + 10
    assert prompt_tokens([Message("system", "é" * 6), user("仁慈")]) == 3 + 4 + 4 + 4 + 2


def answering(words, trait):
    """How a planted subject would answer what a command asks, over the wire."""
    instrument, spec, *_ = words
    registration, stimuli = plan(instrument, [spec], "free", **words[2])
    answer = handling(instrument).planted(study(registration, stimuli), planted.subject(trait))

    def said(body):
        mode = ("first-token" if body.get("logprobs") else
                "constrained" if "response_format" in body else "free")
        messages = tuple(Message(m["role"], m["content"]) for m in body["messages"])
        found = answer(Request(planted.subject(trait), messages, mode))
        return found if isinstance(found, str) else found.text

    return said


def replies(usual, bias):
    """Reply lengths as models have them: skewed, their mean somewhat off the usual."""
    def tokens(rng: random.Random, text: str) -> int:
        return max(1, round(usual * bias * rng.lognormvariate(-0.08, 0.4)))

    return tokens


RUNS = [
    ("fingerprint", "holds", {}, [], 1.0), ("fingerprint", "holds", {}, ["--draws", "2"], 0.85),
    ("fingerprint", "holds", {}, ["--answers", "free,first-token"], 1.2),
    ("fingerprint", "follows-position", {}, ["--answers", "free,constrained"], 0.9),
    ("fingerprint", "refuses-topic", {}, ["--order", "random:3"], 1.25),
    ("label-swap", "neutral", {}, ["--draws", "3", "--decisions", "grant"], 1.0),
    ("label-swap", "leans", {}, ["--draws", "4", "--decisions", "grant"], 1.2),
    ("debates", "steady", {}, [], 1.1), ("debates", "caves-to-pressure", {}, [], 0.85),
    ("debates", "steady", {}, ["--push", "restated"], 0.9),
]


def test_the_worst_cost_is_never_passed_and_the_expected_is_within_a_quarter(tmp_path, equipoise):
    """C4: over ten mock runs, worst at least actual in all, expected within 25% in eight."""
    worst, near = 0, 0
    for place, (instrument, trait, asked, more, bias) in enumerate(RUNS):
        usual = handling(instrument).usual[1]
        account = Account(PRICE, seed=place, tokens=replies(usual, bias),
                          answer=answering((instrument, f"planted:{trait}", asked), trait))
        with billing(account) as url:
            words = [instrument, "-s", f"openai:m@{url}?max_tokens={5 * usual}",
                     *more, "--price", "2,10"]
            said = json.loads(equipoise("plan", *words, "--json")[1])
            code, _, err = equipoise("run", *words, "--run", f"r{place}", "--yes", "--max-usd",
                                     "50", "--no-progress", "--at-once", "8", "--json")
        assert code in (0, 3), err
        assert said["calls"] <= account.calls <= said["calls_most"]
        cost = said["cost_usd"]
        assert cost["low"] <= account.billed
        worst += cost["worst"] >= account.billed
        near += abs(cost["expected"] - account.billed) <= 0.25 * account.billed
    assert worst == 10
    assert near >= 8


def test_a_plan_like_an_earlier_run_expects_what_that_run_measured(equipoise):
    account = Account(PRICE, tokens=replies(70, 1.0))
    with billing(account) as url:
        words = ["fingerprint", "-s", f"openai:m@{url}?max_tokens=300", "--price", "2,10"]
        equipoise("run", *words, "--run", "first", "--yes", "--max-usd", "9", "--no-progress")
        plain = json.loads(equipoise("plan", *words, "--json")[1])["cost_usd"]["expected"]
        like = json.loads(equipoise("plan", *words, "--json", "--like", "first")[1])
    assert like["cost_usd"]["expected"] == pytest.approx(account.billed, rel=0.01)
    assert plain < 0.5 * account.billed
    code, _, err = equipoise("plan", *words, "--like", "second")
    assert code == 2 and "first" in err


# Refusals before anything is sent.

NOWHERE = "openai:m@http://127.0.0.1:9/v1?max_tokens=9"


@pytest.mark.parametrize(("more", "said"), [
    ([], "nothing caps it"), (["--yes"], "nothing caps it"),
    (["--yes", "--max-usd", "1"], "--max-usd needs a price"),
    (["--yes", "--max-usd", "1", "--max-calls", "9"], "--max-usd needs a price"),
    (["--max-calls", "9"], "needs --yes"), (["--price", "1,2", "--yes"], "nothing caps it"),
    (["--price", "1,2", "--max-usd", "1"], "needs --yes"),
])
def test_off_a_terminal_a_run_that_may_cost_money_needs_a_cap_that_holds_and_a_yes(
    equipoise, tmp_path, more, said
):
    """C3: an unknown price refuses to start, exit 2, unless the calls are capped."""
    code, out, err = equipoise("run", "fingerprint", "-s", NOWHERE, *more, stdin="")
    assert (code, out) == (2, "") and said in err
    assert not (tmp_path / "ledger.db").exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("more", "asks"), [
    (["--price", "2,10"], "144 calls to m at http://127.0.0.1:9/v1, for at most $0.07."),
    (["--price", "2,10", "--max-calls", "20", "--at-once", "1"], ""),
    (["--max-calls", "20"], "20 calls to m at http://127.0.0.1:9/v1, at a price that is not"),
    (["--price", "2000,10", "--max-calls", "99"], "99 calls to m at"),
])
def test_on_a_terminal_more_than_a_hundred_calls_or_a_dollar_are_asked_about(
    equipoise, monkeypatch, more, asks
):
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    code, _, err = equipoise("run", "fingerprint", "-s", NOWHERE, *more, "--attempts", "1",
                             "--no-progress")
    if asks:
        assert code == 2 and asks in err and "Nothing was sent" in err
    else:
        assert code == 75 and "Go on?" not in err


def test_the_page_names_every_column_that_is_read():
    page = (Path(__file__).parents[1] / "docs/costs.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in (*COSTS, "id", "generation_id"))


def test_what_is_given_as_free_needs_neither(equipoise):
    account = Account(PRICE)
    with billing(account) as url:
        code, _, _ = equipoise("run", "fingerprint", "-s", f"openai:m@{url}?max_tokens=9",
                               "--price", "0,0", "--no-progress", stdin="")
    assert code == 0 and account.calls == 144


def test_a_run_with_no_cap_and_no_price_keeps_no_book(equipoise, tmp_path):
    equipoise("run", "fingerprint", "-s", "planted:holds", "--no-progress")
    assert not (tmp_path / "ledger.db.budgets").exists()


# What it did cost.


def ran(equipoise, account, *more, run="r"):
    with billing(account) as url:
        code, _, err = equipoise(
            "run", "fingerprint", "-s", f"openai:m@{url}?max_tokens=100", "--price", "2,10",
            "--yes", "--max-usd", "9", "--no-progress", "--run", run, *more)
    assert code in (0, 3, 8), err
    return account


def costed(equipoise, *words):
    return json.loads(equipoise("costs", *words, "--json")[1])


def test_costs_are_those_of_the_bill_to_the_cent(equipoise):
    account = ran(equipoise, Account(PRICE, tokens=replies(30, 1.0)))
    said = costed(equipoise, "r")
    [subject] = said["subjects"]
    assert subject["cost_usd"] == pytest.approx(account.billed) and subject["stated_usd"] == 0
    assert subject["outcomes"]["replies"] == subject["calls"] == 144
    assert subject["price"]["prompt"] == 2 and subject["source"] == "--price"
    [budget] = said["budgets"]
    assert budget["taken_usd"] == budget["settled_usd"] == pytest.approx(account.billed)
    assert budget["cap"] == {"usd": 9, "calls": None}
    code, out, _ = equipoise("costs", "r")
    assert code == 0 and f"${account.billed:.4f}" in out and "capped at $9.00" in out


def test_what_a_provider_states_goes_before_what_is_computed(equipoise):
    account = ran(equipoise, Account(PRICE, states_cost=True, times=0.5))
    total = costed(equipoise, "r")["total"]
    assert total["stated_usd"] == total["cost_usd"] == pytest.approx(account.billed)


def test_the_price_a_run_went_by_is_noted_once_and_is_not_the_subject_s(equipoise, tmp_path):
    ran(equipoise, Account(PRICE))
    ran(equipoise, Account(PRICE), run="again")
    ledger = Ledger.open(tmp_path / "ledger.db", read_only=True)
    first, again = ledger.runs()
    noted = {run.name: [n.text for n in ledger.noted(run.seq) if n.about == "prices"]
             for run in (first, again)}
    assert len(noted["r"]) == 1
    assert b"price" not in first.registration
    assert json.loads(noted["again"][0])["m"]["source"] == "--price"
    ledger.close()


def test_a_call_without_a_reply_is_at_its_worst_and_said_to_be(equipoise):
    account = ran(equipoise, Account(PRICE, resets=0.2), "--attempts", "1")
    total = costed(equipoise, "r")["total"]
    unknown = 144 - total["outcomes"]["replies"]
    assert total["outcomes"]["unknown"] == unknown > 5
    assert total["cost_usd"] > account.billed and total["worst_usd"] > 0
    assert "At worst" in equipoise("costs", "r")[1]


def exported(tmp_path, form, account):
    """The bill in one of the forms in which providers export it."""
    ids = account.bills.items()
    texts = {
        "simple.csv": "id,cost\n" + "".join(f"{i},{c!r}\n" for i, c in ids),
        "openrouter.csv": "generation_id,created_at,cost_total,tokens_prompt\n" + "".join(
            f"{i},2026-11-30 10:00:00.123,{c!r},60\n" for i, c in ids),
        "simple.jsonl": "".join(json.dumps({"id": i, "cost": c}) + "\n" for i, c in ids),
        "generations.jsonl": "".join(json.dumps(
            {"data": {"id": i, "total_cost": c, "usage": c}}) + "\n" for i, c in ids),
        "openai.json": json.dumps({"object": "page", "data": [
            {"object": "bucket", "start_time": 1, "results": [
                {"amount": {"value": account.billed / 2, "currency": "usd"}, "line_item": None}]}
            for _ in range(2)]}),
        "days.csv": f"date,model,amount_value\n2026-11-30,m,{account.billed!r}\n",
    }
    (tmp_path / form).write_text(texts[form], encoding="utf-8-sig")
    return tmp_path / form


FORMS = ["simple.csv", "openrouter.csv", "simple.jsonl", "generations.jsonl", "openai.json",
         "days.csv"]


def test_the_ledger_agrees_with_the_bill_in_every_form_of_it(equipoise, tmp_path):
    """C5: the difference is at most 1%."""
    account = ran(equipoise, Account(PRICE, tokens=replies(30, 1.0)))
    for form in FORMS:
        code, out, err = equipoise("costs", "r", "--reconcile", exported(tmp_path, form, account),
                                   "--json")
        found = json.loads(out)["reconciled"]
        assert code == 0, (form, err)
        assert found["agrees"] and found["differences"] == []
        assert found["theirs_usd"] == pytest.approx(found["ours_usd"])
        assert found["matched"] == (144 if "openai" not in form and "days" not in form else 0)


def test_every_call_that_differs_is_listed_with_its_reason(equipoise, tmp_path):
    account = ran(equipoise, Account(PRICE, tokens=replies(30, 1.0)))
    bills = list(account.bills)
    account.bills[bills[0]] *= 5
    del account.bills[bills[1]]
    account.bills["gen-of-another-program"] = 2.0
    code, out, err = equipoise("costs", "r", "--reconcile",
                               exported(tmp_path, "simple.csv", account), "--json")
    found = json.loads(out)["reconciled"]
    assert {d["id"]: d["reason"] for d in found["differences"]} == {
        bills[0]: "another amount than by the recorded price",
        bills[1]: "here and not in the bill"}
    assert (found["elsewhere"], found["elsewhere_usd"]) == (1, 2.0)
    off = 100 * abs(found["unexplained_usd"]) / found["theirs_usd"]
    assert code == (10 if off > 1 else 0) and ("difference of" in err) == (off > 1)


@pytest.mark.parametrize(("times", "code"), [(1.009, 0), (0.991, 0), (1.02, 10), (0.98, 10)])
def test_more_than_one_percent_without_a_reason_ends_in_10(equipoise, tmp_path, times, code):
    account = ran(equipoise, Account(PRICE, tokens=replies(30, 1.0)))
    for name in account.bills:
        account.bills[name] *= times
    for form in ("simple.csv", "days.csv"):
        ended, _, err = equipoise("costs", "r", "--reconcile", exported(tmp_path, form, account))
        assert ended == code, err


def test_calls_that_may_have_been_billed_are_a_reason(equipoise, tmp_path):
    account = ran(equipoise, Account(PRICE, resets=0.2, seed=4), "--attempts", "1")
    for form in FORMS:
        code, out, err = equipoise("costs", "r", "--reconcile", exported(tmp_path, form, account),
                                   "--json")
        found = json.loads(out)["reconciled"]
        assert code == 0, (form, err)
        assert found["ours_usd"] > found["theirs_usd"] or found["elsewhere"]
        assert all("unknown" in d["reason"] for d in found["differences"]) and (
            len(found["differences"]) > 5)


@pytest.mark.parametrize(("text", "said"), [
    ("", "no rows"), ("id,cost\n", "no rows"), ("id,price\na,1\n", "Row 1 of"),
    ("id,cost\na,1\nb,\n", "Row 2 of"), ("id,cost\na,free\n", "no cost"),
    ('{"id":"a","cost":1}\n{"id"', "neither JSON nor JSON Lines"), ("[1, 2]", "int where a row"),
    ('{"id":"a","cost":NaN}', "no cost"),
])
def test_a_bill_that_cannot_be_read_says_what_is_wrong(equipoise, tmp_path, text, said):
    ran(equipoise, Account(PRICE))
    (tmp_path / "bill").write_text(text)
    code, _, err = equipoise("costs", "r", "--reconcile", tmp_path / "bill")
    assert code == 2 and said in err
    assert equipoise("costs", "r", "--reconcile", tmp_path / "none")[0] == 2


@pytest.mark.parametrize(("body", "name"), [
    (b'{"id":"gen-1","choices":[]}', "gen-1"), (b'{"responseId":"r-2"}', "r-2"),
    (b'\xef\xbb\xbf{"id":"a"}', "a"), (b'{"id":7}', "7"), (b'{"id":"\\ud800"}', "\ud800"),
    (b"", ""), (b"[]", ""), (b"<html>", ""), (b'{"id":null}', ""), (b"\xff", ""),
])
def test_a_reply_s_own_name_is_read_from_its_bytes(body, name):
    assert reply_id(body) == name
