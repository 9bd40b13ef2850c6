"""stairs ask RUN [TEXT ...]: the answer of a run."""

from dataclasses import dataclass
from typing import Any, Literal

from tyro.conf import Positional

from stairs import api
from stairs.commands.flags import CommonFlags, check_seed, check_top, parse, show, texts_from
from stairs.errors import BadInput, Unsupported
from stairs.text.windows import LongTextRule

ABOUT = """The answer of a run to each text: its translation, its continuation, the words for its blanks (___ or [MASK]), its label, its tags,
the answer to a question in a passage, or the nearest texts or words. Texts are arguments, or lines of --file or of stdin; with --json each answer is
one object on a line."""
RANKING_TASKS = ("next-token", "masked-token", "word-vectors", "similar")  # whose answers are lists of --top candidates


@dataclass(frozen=True)
class Ask(CommonFlags):
    run: Positional[str]  # a run folder
    text: Positional[tuple[str, ...]] = ()  # texts to answer; - is stdin
    file: str | None = None  # file with one text per line; stdin if neither texts nor a file are given
    length: int = 20  # maximum number of generated tokens
    temperature: float = 0.0  # sampling temperature; 0 takes the most probable token, 1 samples from the model's distribution
    top_k: int = 0  # top-k sampling: keep the k most probable tokens; 0 keeps all
    top_p: float = 1.0  # nucleus sampling: keep the most probable tokens that together reach this probability
    top: int = 10  # how many next tokens, words for a blank, or neighbours to list
    second: str | None = None  # second text: to compare with, a passage, or for bert a possible next sentence; none if not given
    likelihood: bool = False  # bert: pseudo-log-likelihood of the text, token by token, instead of filling blanks
    long_text: LongTextRule | None = None  # bert: what to read of a text that is too long; if not given, a window around its blanks
    beam_size: int | None = None  # translation: beam size, 1 for greedy decoding; 4 if not given
    n_best: int = 1  # translation: how many of the best hypotheses to print
    length_penalty: float = 1.0  # translation: log-probabilities are divided by this power of the length
    alignment: str | None = None  # translation: write a picture of the attention here, as SVG, PNG or HTML; none if not given
    tree: str | None = None  # translation: write a picture of the beam search here; none if not given
    precision: Literal["fp32", "bf16", "int8"] = "fp32"  # arithmetic of generation; int8, or bf16 where the processor has it, is faster
    seed: int = 0  # random seed of sampling


def main(arguments: list[str]) -> int:
    options = parse(Ask, arguments, "ask", ABOUT)
    check(options)
    texts = texts_from(options.text, options.file)
    task: Any = api.load(options.run)
    if options.precision != "fp32":
        if task.name not in ("next-token", "translate"):
            raise Unsupported(f"--precision is for continuations and translations, and {options.run} is a {task.name} run")
        task.set_precision(options.precision)
    if task.name == "translate":
        return translate(task, texts, options)
    if options.beam_size is not None or options.n_best != 1 or options.length_penalty != 1 or options.alignment or options.tree:
        raise Unsupported(f"{options.run} is a {task.name} run of {task.model_name} and cannot translate; train seq2seq or transformer with --pairs")
    generation = {
        "length": options.length,
        "temperature": options.temperature,
        "top_k": options.top_k,
        "top_p": options.top_p,
        "seed": options.seed,
        "top": options.top,
    }
    for text in texts:
        answer = bidirectional_answer(task, text, options) or task.answer(text, **(generation if task.name in RANKING_TASKS else {}))
        if options.json:
            show(answer)
        else:
            print(answer_line(answer))
    return 0


def translate(task: Any, texts: list[str], options: Ask) -> int:
    """One line for each text, or one object with the details of the search."""
    decoding = {name: getattr(options, name) for name in ("n_best", "length_penalty", "temperature", "top_k", "top_p", "seed")}
    details = options.json or bool(options.alignment or options.tree)
    if not details and options.n_best == 1 and options.length_penalty == 1 and not options.temperature:
        for line in task.translate_texts(texts, **({} if options.beam_size is None else {"beam_size": options.beam_size})):
            print(line)
        return 0
    for text in texts:
        answer = task.answer(text, beam_size=options.beam_size, details=details, **decoding)
        if options.alignment or options.tree:
            draw(answer, options)
        if options.json:
            show(answer)
        else:
            print("\n  ".join(one["translation"] for one in answer.get("translations", [answer])))
    return 0


def draw(answer: Any, options: Ask) -> None:
    """The pictures that were asked for."""
    from stairs.pictures.charts import save
    from stairs.pictures.translation import alignment, beam_tree

    if options.alignment and answer["alignment"] is None:
        raise Unsupported(f"{options.run} has one vector for the whole sentence, so there is no alignment; train with --attention additive")
    if options.alignment:
        save(alignment(answer | answer["alignment"]), options.alignment)
    if options.tree:
        save(beam_tree(answer | {"steps": answer.get("tree", [])}), options.tree)


def bidirectional_answer(task: Any, text: str, options: Ask) -> dict[str, Any] | None:
    """What only a model that reads in both directions can answer; None if its ordinary answer is wanted."""
    if options.long_text is None and options.second is None and not options.likelihood:
        return None
    if task.name in ("compare", "bi-encoder", "find-span", "similar") and options.second is not None:
        return task.answer(text, second=options.second)
    if task.name == "encode" and options.second is not None:
        return {"first": text, "second": options.second, "cosine": task.similarity(text, options.second)}
    if task.name != "masked-token":
        raise Unsupported(f"--second, --likelihood and --long-text are for bert runs, and {options.run} is one of {task.model_name}")
    task.long_text = options.long_text or task.long_text
    if options.second is not None:
        return task.sentence_pair(text, options.second)
    return task.pseudo_log_likelihood(text) if options.likelihood else None


def answer_line(answer: dict[str, Any]) -> str:
    """An answer for a person."""
    if "blanks" in answer:
        blanks = [", ".join(f"{word['word']} {word['probability']:.1%}" for word in blank["words"]) for blank in answer["blanks"]]
        return "\n  ".join([answer["filled"], *blanks])
    if "verdict" in answer:
        return f"{answer['verdict']} (probability that it follows {answer['next_sentence_probability']:.1%})"
    if "pseudo_log_likelihood" in answer:
        tokens = " ".join(f"{token['token']} {token['log_probability']:.2f}" for token in answer["tokens"])
        return f"pseudo-log-likelihood {answer['pseudo_log_likelihood']:.2f} nats: {tokens}"
    if "cosine" in answer:
        return f"cosine {answer['cosine']:.4f}"
    if "vector" in answer:
        return " ".join(f"{number:.6g}" for number in answer["vector"])
    if "near" in answer:
        if "text" in answer["near"][0]:
            return "\n".join(f"{near['cosine']:.2f}  {near['text']}" for near in answer["near"])
        return ", ".join(f"{near['word']} {near['cosine']:.2f}" for near in answer["near"])
    if "tags" in answer:
        return " ".join(f"{word}/{tag}" for word, tag in zip(answer["words"], answer["tags"], strict=True))
    if "score" in answer:
        return f"{answer['score']:.4f}"
    return answer["continuation"] if "continuation" in answer else answer["answer"] if "answer" in answer else answer["label"]


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
