"""A reply of one text in the form of each dialect, and a subject to be asked in it."""

from equipoise.providers import dialect
from equipoise.terms import Subject

TEXT = b"TEXT"
BESIDE = b'"beside":null'

WHOLE = {
    "openai": b'{"choices":[{"message":{"content":TEXT},"finish_reason":"stop"}],"beside":null}',
    "openrouter": b'{"choices":[{"message":{"content":TEXT},"finish_reason":"stop"}],'
                  b'"beside":null}',
    "responses": b'{"status":"completed","output":[{"type":"message","content":'
                 b'[{"type":"output_text","text":TEXT}]}],"beside":null}',
    "anthropic": b'{"type":"message","content":[{"type":"text","text":TEXT}],'
                 b'"stop_reason":"end_turn","beside":null}',
    "gemini": b'{"candidates":[{"content":{"parts":[{"text":TEXT}]},"finishReason":"STOP"}],'
              b'"beside":null}',
    "inspect": b'{"choices":[{"message":{"role":"assistant","content":TEXT},'
               b'"stop_reason":"stop"}],"beside":null}',
}
"""What holds each one's words; none of these names is in the others' forms."""

HELD_IN = {"openai": "choices", "openrouter": "choices", "responses": "output",
           "anthropic": "content", "gemini": "candidates", "inspect": "choices"}
OVER_HTTP = [name for name in WHOLE if name != "inspect"]


def whole(name, text=b'"mercy"', beside=BESIDE):
    """A reply whose text is that JSON, with a further field beside."""
    return WHOLE[name].replace(TEXT, text).replace(BESIDE, beside)


def subject(name, **settings):
    """A subject asked in that dialect."""
    return Subject("m", "m", "m", name, dialect(name).home, {"max_tokens": 10, **settings})
