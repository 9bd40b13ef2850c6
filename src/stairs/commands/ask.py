"""stairs ask RUN [TEXT ...]: the answer of a run."""

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from tyro.conf import Positional

from stairs.commands.flags import CommonFlags, GuessFlags, check_seed, check_top, parse, part_of, show, texts_from
from stairs.errors import BadInput, Unsupported
from stairs.progress import quiet
from stairs.tasks.prediction_options import PredictionOptions
from stairs.text.examples import ParsedSentence
from stairs.text.windows import LongTextRule

if TYPE_CHECKING:
    from stairs.inspection.reasons import Explanation
    from stairs.predict_job import PredictJob
    from stairs.tasks import Task
    from stairs.tasks.answers import Answer
    from stairs.tasks.row_predictions import RowPredictor

ABOUT = """The answer of a run to each text: its translation, its continuation, the words for its blanks (___ or [MASK]), its label, its tags,
the answer to a question in a passage, the right one of several --choices, or the nearest texts or words. Texts are arguments, or lines of --file or
of stdin; on a terminal they are typed, one a line, until Ctrl-D. A --file that is a table (csv, tsv, xlsx, jsonl, parquet) is answered row by row:
its columns are kept, and `prediction`, `probability` and what else is asked for stand behind them, in --out or on stdout. A tagger that was tuned
with --structural-positions reads the sentences of a CoNLL-U file. With --json each answer is one object on a line."""


@dataclass(frozen=True)
class Ask(PredictionOptions, GuessFlags, CommonFlags):
    run: Positional[str]  # a run folder, or the folder of a climb: its recommended model answers
    texts: Positional[tuple[str, ...]] = ()  # texts to answer; - is stdin
    file: str | None = None  # table, or file with one text per line; stdin if neither texts nor a file are given
    out: str | None = None  # with --file: the file of predictions, .csv, .tsv, .jsonl, .xlsx or .parquet; - is stdout, as if not given
    text: str | None = None  # with --file: column of the text, by name or number; if not given, that of the training file, or a guess
    second_column: str | None = None  # with --file: column of the second text, of the passage, or of the choices; as --text if not given
    encoding: str | None = None  # with --file: its encoding; detected if not given
    length: int = 20  # maximum number of generated tokens
    temperature: float = 0.0  # sampling temperature; 0 takes the most probable token, 1 samples from the model's distribution
    top_k: int = 0  # top-k sampling: keep the k most probable tokens; 0 keeps all
    top_p: float = 1.0  # nucleus sampling: keep the most probable tokens that together reach this probability
    top: int = 10  # how many next tokens, words for a blank, or neighbours to list
    source: bool = False  # unilm: read the whole text in both directions, and answer with what follows it, instead of continuing its last sentence
    second: str | None = None  # second text: to compare with, a passage, or for bert a possible next sentence; none if not given
    choices: tuple[str, ...] = ()  # the answers to choose from, for a run tuned for choose; if not given, they follow in the text, a tab before each
    likelihood: bool = False  # bert: pseudo-log-likelihood of the text, token by token, instead of filling blanks
    long_text: LongTextRule | None = None  # bert: what to read of a text that is too long; if not given, a window around its blanks
    beam_size: int | None = None  # translation: beam size, 1 for greedy decoding; 4 if not given
    n_best: int = 1  # translation: how many of the best hypotheses to print
    length_penalty: float = 1.0  # translation: log-probabilities are divided by this power of the length
    alignment: str | None = None  # translation: write a picture of the attention here, as SVG, PNG or HTML; none if not given
    tree: str | None = None  # translation: write a picture of the beam search here; none if not given
    precision: Literal["fp32", "bf16", "int8"] = "fp32"  # arithmetic of generation; int8, or bf16 where the processor has it, is faster
    seed: int = 0  # random seed of sampling


NOT_FOR_ANSWERS = {"run", "texts", "file", "out", "text", "second_column", "encoding", "alignment", "tree", "precision"} | {
    field.name for kind in (CommonFlags, GuessFlags, PredictionOptions) for field in dataclasses.fields(kind)
}
FOR_ANSWERS = [field.name for field in dataclasses.fields(Ask) if field.name not in NOT_FOR_ANSWERS]  # keyword arguments of `Task.answer`


def main(arguments: list[str]) -> int:
    options = parse(Ask, arguments, "ask", ABOUT)
    check(options)
    job = file_job(options)
    texts = [] if job or is_conversation(options) else texts_from(options.texts, options.file)
    from stairs import api

    task = api.load(options.run)
    set_precision(task, options)
    if job is not None:
        return predict_rows(dataclasses.replace(job, answer_options=answer_options(task, options)), task, options)
    from stairs.tasks.row_predictions import RowPredictor

    predictor = RowPredictor(task, part_of(options, PredictionOptions))
    if is_conversation(options):
        return converse(predictor, options)
    for answer in answers(task, texts, options):
        print_answer(predictor, answer, options)
    return 0


def file_job(options: Ask) -> "PredictJob | None":
    """The rows of a table, or any file that becomes one; None for texts, and for a CoNLL-U file."""
    from stairs.text.tables.rows import is_table_file

    if options.file is None or (options.out is None and not is_table_file(options.file)):
        for flag in ("out", "text", "second_column", "encoding", "all_labels"):
            if getattr(options, flag):
                raise BadInput(f"--{flag.replace('_', '-')} is for the rows of a table; name one with --file, such as new.csv")
        return None
    from stairs.predict_job import PredictJob

    texts_from(options.texts, options.file) if options.texts else None  # which are refused beside a file
    if options.second is not None or options.choices:
        raise BadInput("--second and --choices belong to a text; name the column of a file with --second-column")
    named = {name: value for name, value in (("text", options.text), ("second_column", options.second_column)) if value is not None}
    return PredictJob(options.file, options.out or "-", named, options.encoding, options.json, part_of(options, PredictionOptions))


def predict_rows(job: "PredictJob", task: "Task", options: Ask) -> int:
    from stairs.predict_job import summary_sentence
    from stairs.progress import say

    summary = job.predict(task)
    if options.json and job.out != "-":
        show(summary)
    say(summary_sentence(summary))
    return 0


def is_conversation(options: Ask) -> bool:
    """Whether somebody types the texts."""
    return not options.texts and options.file is None and sys.stdin is not None and sys.stdin.isatty()


def converse(predictor: "RowPredictor", options: Ask) -> int:
    """Answer each line that is typed; Ctrl-D ends it."""
    with suppress(ImportError):
        import readline  # noqa: F401  (lines can be edited and recalled)
    print("Type a text and Enter; Ctrl-D ends.", file=sys.stderr)
    while True:
        try:
            text = input("> ")
            for answer in answers(predictor.task, [text], options) if text.strip() else ():
                print_answer(predictor, answer, options)
        except BadInput as error:
            print(error, file=sys.stderr)
        except EOFError:
            print()
            return 0
        except KeyboardInterrupt:
            print()
            return 130


def print_answer(predictor: "RowPredictor", answer: "Answer", options: Ask) -> None:
    """One answer, decided by the options; with its reasons and pictures, if they are asked for."""
    draw(answer, options)
    decided = predictor.decide_answer(answer)
    explanation = explain(predictor.task, str(answer["text"])) if options.why else None
    if options.json:
        show({**decided, **({"why": explanation} if explanation else {})})
        return
    print(predictor.task.summary(decided) + (" (unsure)" if decided.get("unsure") else ""))
    if explanation:
        from stairs.inspection.reasons import explanation_lines

        print("\n".join(f"  {line}" for line in explanation_lines(explanation)))


def explain(task: "Task", text: str) -> "Explanation":
    from stairs.inspection.reasons import explain

    return explain(task, text)


def answers(task: "Task", texts: list[str], options: Ask) -> "Iterator[Answer]":
    """Of the texts; a task that needs dependency trees answers the sentences of a CoNLL-U file."""
    given = answer_options(task, options)
    if not task.needs_trees or options.file is None:
        yield from task.answers(texts, **given)
        return
    from stairs.tasks.tag import Tag
    from stairs.text.labelled import read_examples

    assert isinstance(task, Tag)
    with quiet():  # the tags may be missing, so the words stand in for them
        sentences = read_examples(options.file, "tag", columns={"tag": "form"}, trees=True).examples
    for sentence in sentences:
        yield task.answer_parsed(cast(ParsedSentence, sentence))


def answer_options(task: "Task", options: Ask) -> dict[str, object]:
    """The flags that were given, each of which must mean something to the task."""
    known, defaults = task.answer_options(), {field.name: field.default for field in dataclasses.fields(Ask)}
    given = {name: getattr(options, name) for name in FOR_ANSWERS if getattr(options, name) != defaults[name]}
    for name in given:
        if name not in known:
            flags = ", ".join(f"--{own.replace('_', '-')}" for own in known if own in FOR_ANSWERS)
            reason = f"--{name.replace('_', '-')} means nothing to {options.run}, a {task.name} run of {task.model_name}"
            raise Unsupported(f"{reason}; {'it takes ' + flags if flags else 'leave it out'}")
    if (options.alignment or options.tree) and not task.translates:
        raise Unsupported(f"{options.run} is a {task.name} run of {task.model_name} and cannot translate; train seq2seq or transformer with --pairs")
    if "details" in known:
        given["details"] = options.json or bool(options.alignment or options.tree)
    return given


def set_precision(task: "Task", options: Ask) -> None:
    if options.precision == "fp32":
        return
    from stairs.tasks.parts.generative import Generative

    if not isinstance(task, Generative):
        raise Unsupported(f"--precision is for continuations and translations, and {options.run} is a {task.name} run")
    task.set_precision(options.precision)


def draw(answer: "Answer", options: Ask) -> None:
    """The pictures that were asked for."""
    if not options.alignment and not options.tree:
        return
    from stairs.pictures.charts import save
    from stairs.pictures.translation import alignment, beam_tree

    if options.alignment and answer["alignment"] is None:
        raise Unsupported(f"{options.run} has one vector for the whole sentence, so there is no alignment; train with --attention additive")
    texts = {"text": answer["text"], "translation": answer["translation"]}
    if options.alignment:
        save(alignment({**texts, **answer["alignment"]}), options.alignment)  # type: ignore[typeddict-item]
    if options.tree:
        save(beam_tree({**texts, "steps": answer.get("tree", [])}), options.tree)  # type: ignore[typeddict-item]


def check(options: Ask) -> None:
    if not 0 <= options.length <= 100_000:
        raise BadInput(f"--length {options.length} is not between 0 and 100000")
    if not 0 <= options.temperature <= 100:
        raise BadInput(f"--temperature {options.temperature} is not between 0 and 100; 0 takes the most probable token")
    if not 0 <= options.top_k <= 1 << 24:
        raise BadInput(f"--top-k {options.top_k} is not between 0 and {1 << 24}; 0 keeps all")
    if not 0 < options.top_p <= 1:
        raise BadInput(f"--top-p {options.top_p} is not above 0 and at most 1")
    check_top(options.top)
    if not -10 <= options.length_penalty <= 10:
        raise BadInput(f"--length-penalty {options.length_penalty} is not between -10 and 10; 1 takes the mean, 0 the sum")
    check_seed(options.seed)
