"""Whatever a file holds, it is read or refused in one sentence; nothing else comes out."""

import gzip

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stairs.errors import StairsError
from stairs.text.labelled import guess_task, read_examples

TASKS = ("classify", "compare", "tag", "span", "translate")
ENDINGS = ("csv", "tsv", "txt", "jsonl", "json", "parquet", "conll", "conllu", "en", "csv.gz", "csv.xz", "csv.zst")
SEEDS = (
    'text,label\n"a, b",c\nd,e\n', "sentence1\tsentence2\tscore\na\tb\t1.5\n", "a\tB-X\nb\tI-X\n\nc\tO\n", '{"text": "a", "label": 1}\n',
    '{"data": [{"paragraphs": [{"context": "a b", "qas": [{"question": "q", "answers": [{"text": "b", "answer_start": 2}]}]}]}]}',
    "1\ta\ta\tX\t_\t_\t0\troot\t_\t_\n", "__label__a b\n", "[1, 2]",
)  # fmt: skip
MARKS = ("\\ud800", "I-X", "E-X", "\ufeff", "\u2028", "文", *'",\t\n\r{}[]:\\#-O_ 1\0')
pieces = st.sampled_from(MARKS)


@st.composite
def damaged(draw):
    """A good file with some pieces put in and others cut out."""
    text = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(0, 4))):
        place, cut = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
        text = text[:place] + draw(pieces) + text[place + cut :]
    return text.encode()


@pytest.mark.parametrize("ending", ENDINGS)
@settings(derandomize=True, max_examples=40, deadline=None)
@given(content=damaged() | st.binary(max_size=80))
@example(content=b"")
@example(content=gzip.compress(SEEDS[0].encode()))
def test_read_or_refused(tmp_path_factory, ending, content):
    path = tmp_path_factory.mktemp("fuzz") / f"a.{ending}"
    path.write_bytes(content)
    for task in (*TASKS, None):
        try:
            if task:
                assert len(list(read_examples(path, task).examples))
            else:
                assert guess_task(path) in TASKS
        except StairsError as error:
            assert error.code in (2, 3) and "\n" not in str(error) and str(path) in str(error)
