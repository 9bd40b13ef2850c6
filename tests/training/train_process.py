"""Trainings for tests to kill, stop and starve.

python train_process.py RUN TEXT MODEL key=value ...   one training; the keys are settings of the model and options of the training
python train_process.py serve                          forks a training for each order on stdin, so that torch is imported only once
"""

import dataclasses
import json
import os
import resource
import signal
import sys
from pathlib import Path

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
sys.path.append(str(Path(__file__).parents[2]))  # where `tests` is, if this is run by its path
import numba
import torch

from stairs import progress
from stairs.cli import print_error
from stairs.errors import StairsError
from stairs.models import MODELS
from stairs.models.settings import CONFIGS
from stairs.tasks import TASKS
from stairs.tasks.parts.labelled_splits import LabelledSplits
from stairs.text.corpus.corpus import Corpus
from stairs.text.examples import LabelledText, TranslationPair
from stairs.text.shards import build_shards
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec
from stairs.training import sweeps
from stairs.training.fit import fit
from stairs.training.options import TrainingOptions
from stairs.training.run import load_tokenizer
from tests.support.tiny import tiny
from tests.training.toy_model import Toy, ToyConfig

MODELS["toy"], CONFIGS["toy"] = Toy, ToyConfig
sweeps.SLICE_TOKENS, sweeps.SYNC_TOKENS = 512, 256  # so that an epoch of a small text has many slices

SMALL = {
    "ngram": tiny("ngram"),
    "nnlm": tiny("nnlm", context=32, dropout=0.1, softmax="full"),
    "gpt": tiny("gpt", context=32, dropout=0.1),
    "bert": tiny("bert", context=32, dropout=0.1),
    "xlnet": tiny("xlnet", context=32, dropout=0.1, memory=8),
    "roberta": tiny("roberta", context=32, dropout=0.1),
    "unilm": tiny("unilm", context=32, dropout=0.1),
    "seq2seq": tiny("seq2seq", context=32),
    "elmo": tiny("elmo", burn_in=4, output_vocab=100, softmax="sampled", samples=50),
    "transformer": tiny("transformer", context=32, layers=1),
    "tuned": tiny("bert", context=32, dropout=0.1),
    "cnn": tiny("cnn", context=32, dropout=0.5, input_dropout=0.2),
    "toy": {},
    **{name: tiny(name, window=5) for name in ("cbow", "skipgram", "glove")},
}
QUICK = {"steps": 40, "batch_tokens": 256, "precision": "fp32", "threads": 1, "save_every": 4, "evaluate_every": 10}
SWEEPING = {"epochs": 4, "threads": 1, "save_every": 4, "deterministic": True}


def fit_arguments(out: str | Path, text: str | Path, name: str, **values) -> tuple:
    """What `fit` takes to train a small model of this name; the values are settings of the model and options of the training."""
    names = {field.name for field in dataclasses.fields(TrainingOptions)}
    given = {name: value for name, value in values.items() if name in names}
    own_settings = {name: value for name, value in values.items() if name not in names}
    if name in ("seq2seq", "transformer", "tuned", "cnn"):
        return labelled_arguments(out, text, name, {**SMALL[name], **own_settings}, TrainingOptions(**{**QUICK, **given}))
    options = TrainingOptions(**{**(SWEEPING if MODELS[name].learns_by == "sweeping" else QUICK), **given})
    settings = {**SMALL[name], **own_settings}
    spec = load_tokenizer(out) if options.accept_new_corpus else TokenizerSpec("words", vocab_size=300)
    shards = build_shards(Corpus(Path(text)), spec)
    vocabulary, config_fields = shards.tokenizer.vocabulary_settings, dataclasses.fields(CONFIGS[name])
    model = MODELS[name](CONFIGS[name](**{field.name: vocabulary[field.name] for field in config_fields if field.name in vocabulary}, **settings))
    return TASKS[model.pretrains_with](model, shards.tokenizer), shards, out, options


def labelled_arguments(out: str | Path, text: str | Path, name: str, settings: dict, options: TrainingOptions) -> tuple:
    """The same for labelled examples: each line and its words in reverse, or whether the line is long."""
    lines = [line for line in Path(text).read_text().split("\n") if line]
    tokenizer = Tokenizer.train(TokenizerSpec("words"), lambda: [lines])
    if name in ("tuned", "cnn"):
        model_name = "bert" if name == "tuned" else name
        model = MODELS[model_name](CONFIGS[model_name](vocab_size=tokenizer.vocab_size, **settings))
        examples = [LabelledText(line, "long" if len(line.split()) > 9 else "short") for line in lines]
        task = TASKS["classify"](model, tokenizer, **TASKS["classify"].settings_from(examples))
        return task, LabelledSplits(examples[40:], examples[:40]), out, options
    model = MODELS[name](CONFIGS[name](vocab_size=tokenizer.vocab_size, **settings))
    pairs = [TranslationPair(line, " ".join(line.split()[::-1])) for line in lines]
    return TASKS["translate"](model, tokenizer), LabelledSplits(pairs[20:], pairs[:20]), out, options


def main(out: str, text: str, name: str, *words: str) -> int:
    progress.messages_enabled = True
    values = {name: json.loads(value) for name, value in (word.split("=", 1) for word in words)}
    limit, plans_from = values.pop("megabytes", None), values.pop("plans_from", None)
    try:
        arguments = fit_arguments(out, text, name, **values)
        if limit:
            now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (now + limit * 1_000_000,) * 2)
        measured = fit(*arguments, plans_from)
    except StairsError as error:
        print_error(str(error))
        return error.code
    except KeyboardInterrupt:
        return 130
    except SystemExit as ending:
        return ending.code
    print(json.dumps(measured), flush=True)
    return 0


def serve() -> None:
    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.zeros(1)
    torch.optim.AdamW([weight], fused=True).step()  # imports more of torch, once for all of them
    numba.njit(lambda: 0)()  # and what numba's first call imports: a BLAS that hangs where memory is short
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            print(os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1]), flush=True)
            continue
        process = os.fork()
        if process == 0:
            log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(log, 1), os.dup2(log, 2)
            if order.get("stopped"):
                os.kill(os.getpid(), signal.SIGSTOP)
            code = 1
            try:
                code = main(*order["arguments"])
            finally:
                sys.stdout.flush(), sys.stderr.flush()
                os._exit(code)
        print(process, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        code = main(*sys.argv[1:])
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)  # as the command does: gloo's threads may abort while the interpreter shuts down
