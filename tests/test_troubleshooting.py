"""The page on troubleshooting has a remedy for every message, and none for messages that are gone.

An entry of the page quotes words of a message in bold code; ``…`` stands for what differs. A
message is covered when all words of an entry are in it, in order. So an entry can speak for a
family of messages with the same remedy.
"""

import re
from pathlib import Path

import pytest

from messages import Message, Reader, covers

PAGE = Path(__file__).parent.parent / "docs" / "troubleshooting.md"
MOST = 20


@pytest.fixture(scope="module")
def reader():
    return Reader()


@pytest.fixture(scope="module")
def messages(reader):
    return reader.messages()


@pytest.fixture(scope="module")
def entries():
    return re.findall(r"\*\*`([^`]+)`\*\*", PAGE.read_text(encoding="utf-8"))


def test_every_message_can_be_read(reader, messages):
    assert len(messages) > 400
    assert not reader.unread, "Write these so that they can be read: " + "\n".join(reader.unread)


def test_every_message_has_a_remedy(messages, entries):
    missing = [m for m in messages if not any(covers(entry, m.text) for entry in entries)]
    said = "\n".join(f"{m.place}: {m.text}" for m in missing)
    assert not missing, f"docs/troubleshooting.md says nothing about\n{said}"


def test_every_entry_is_of_a_message(messages, entries):
    assert len(entries) > 250
    stale = [entry for entry in entries if not any(covers(entry, m.text) for m in messages)]
    assert not stale, f"No message has the words {stale}."


def test_entries_are_telling(messages, entries):
    for entry in entries:
        covered = {m.text for m in messages if covers(entry, m.text)}
        assert len(covered) <= MOST, f"{entry!r} speaks for {len(covered)} messages; say more."


def test_the_reader_finds_messages_however_they_are_made(tmp_path):
    (tmp_path / "module.py").write_text(
        "import warnings\n"
        "class OwnError(ValueError): ...\n"
        "def advice(x): return f'use {x} instead'\n"
        "def refusal(x): return OwnError('made ' + x)\n"
        "def run(x):\n"
        "    message = f'too large: {x}'\n"
        "    warnings.warn(message, stacklevel=2)\n"
        "    warnings.warn(advice(x), stacklevel=2)\n"
        "    if x: raise OwnError('first' if x > 1 else 'second')\n"
        "    if x: raise refusal(x)\n"
        "    raise OwnError(x)\n"
    )
    reader = Reader(sources=(tmp_path,))
    texts = {message.text for message in reader.messages()}
    assert texts == {"too large: …", "use … instead", "first", "second", "made …"}
    assert reader.unread == [f"{tmp_path.name}/module.py:11: OwnError(x)"]


def test_a_new_message_without_a_remedy_is_noticed(entries):
    new = Message("module.py:1", "The moon is in the wrong quarter: wait for a week.")
    assert not any(covers(entry, new.text) for entry in entries)
