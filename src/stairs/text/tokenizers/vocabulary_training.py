"""Learning a vocabulary from sentences: counting for words and characters, the library's trainers for the subword kinds.

Departures: subword trainers see characters that make up COVERAGE of the text, so that rare ones do not crowd out the pieces (byte-bpe
needs no such limit), and Unigram stops reading after UNIGRAM_LETTERS letters of distinct words, since its trainer's time grows with them.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from stairs.errors import BadInput
from stairs.kernels import pretokens as kernel
from stairs.text.chinese import has_han
from stairs.text.special import SPECIAL_TOKENS, UNKNOWN
from stairs.text.tokenizers.bulk_encoding import PretokenCounts, PretokenIndex, lone_surrogate_error, text_preprocessor
from stairs.text.tokenizers.spec import TokenizerSpec, assemble_backend, empty_model

Sentences = Callable[[], Iterable[list[str]]]  # a fresh iterator of documents, each a list of sentences
COVERAGE = 0.9995
ALPHABET_SHARE = 0.75  # of the vocabulary, at most
ALPHABET_SAMPLE = 16_000_000  # characters that the alphabet is counted on
UNIGRAM_CHARACTERS = 1_500_000
FORBIDDEN_SCORE = -1e6  # of a special token spelled in a text
FILLER_STEP = 0.0001  # between the scores that the Unigram trainer makes up
ASCII = [chr(code) for code in range(33, 127)]


def train_backend(spec: TokenizerSpec, sentences: Sentences) -> tokenizers.Tokenizer:
    """A trained tokenizer of the library."""
    if spec.kind in ("words", "characters"):
        return vocabulary_from_counts(spec, count_pretokens(spec, sentences))[0]
    try:
        return train_subwords(spec, sentences)
    except UnicodeEncodeError as error:
        raise lone_surrogate_error(error) from None
    except Exception as error:
        if "not large enough" not in str(error):
            raise
        raise BadInput(
            f"a {spec.kind} vocabulary of {spec.vocab_size} is too small for the characters of this text; give a larger --vocab-size"
        ) from None


def count_pretokens(spec: TokenizerSpec, sentences: Sentences) -> PretokenCounts:
    pretokens = PretokenIndex(spec, assemble_backend(spec, empty_model(spec.kind)))
    counts = PretokenCounts(pretokens)
    for documents in document_blocks(sentences(), 1 << 20):
        counts.add(pretokens.number_block(pretokens.block(documents)))
    return counts


def vocabulary_from_counts(spec: TokenizerSpec, counts: PretokenCounts) -> tuple[tokenizers.Tokenizer, list[str], np.ndarray]:
    """A backend with the special tokens and the commonest pre-tokens, its vocabulary, and the numbers of those pre-tokens."""
    limit = None if spec.vocab_size is None else spec.vocab_size - len(SPECIAL_TOKENS)
    spellings = counts.pretokens.spellings()
    chosen = counts.most_common(limit, spec.min_count)
    vocabulary = [*SPECIAL_TOKENS, *(spellings[number] for number in chosen.tolist())]
    if not len(chosen):
        raise BadInput("no word is frequent enough for the vocabulary; give more text or a lower --min-count")
    ids = {token: number for number, token in enumerate(vocabulary)}
    return assemble_backend(spec, models.WordLevel(ids, unk_token=SPECIAL_TOKENS[UNKNOWN])), vocabulary, chosen


def train_subwords(spec: TokenizerSpec, sentences: Sentences) -> tokenizers.Tokenizer:
    backend = assemble_backend(spec, empty_model(spec.kind))
    shared: dict[str, Any] = {"vocab_size": spec.vocab_size, "special_tokens": list(SPECIAL_TOKENS), "show_progress": False}
    pairs: dict[str, Any] = {"min_frequency": max(2, spec.min_count), **shared}  # merges go on until no pair repeats
    text: Iterable[list[str]] = sentences()
    trainer: trainers.Trainer
    if spec.kind == "byte-bpe":
        trainer = trainers.BpeTrainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **pairs)
    else:
        alphabet = frequent_characters(spec, sentences)
        text = replace_rare_characters(text, alphabet, text_preprocessor(spec) or str)
        if spec.kind == "unigram":
            text = until_distinct(text, UNIGRAM_CHARACTERS)
            trainer = trainers.UnigramTrainer(unk_token=SPECIAL_TOKENS[UNKNOWN], initial_alphabet=ASCII, shrinking_factor=0.5, **shared)
        else:
            # Listed in advance because the trainer numbers them in the order of a randomly seeded hash map, and ties between pairs are broken
            # by number; and so that each is known inside a word and at its end.
            pairs["special_tokens"] = [*SPECIAL_TOKENS, *character_tokens(spec, alphabet, backend)]
            if spec.kind == "bpe":
                trainer = trainers.BpeTrainer(end_of_word_suffix="</w>", **pairs)
            else:
                trainer = trainers.WordPieceTrainer(continuing_subword_prefix="##", **pairs)
    backend.train_from_iterator(text, trainer)
    return assemble_backend(spec, forbid_special_tokens(spec, backend))


def forbid_special_tokens(spec: TokenizerSpec, backend: tokenizers.Tokenizer) -> models.Model:
    """The trained model, changed so that no text is ever encoded as a special token: "[MASK]" in a text is six characters."""
    trained = json.loads(backend.to_str())["model"]
    if spec.kind == "unigram":
        specials = [(token, FORBIDDEN_SCORE) for token in SPECIAL_TOKENS]
        pieces = stable_scores([(piece, score) for piece, score in trained["vocab"] if piece not in SPECIAL_TOKENS])
        return models.Unigram(specials + pieces, unk_id=UNKNOWN)
    if spec.kind == "wordpiece":
        return backend.model
    merges = [(first, second) for first, second in trained["merges"] if first + second not in SPECIAL_TOKENS]
    if spec.kind == "byte-bpe":
        return models.BPE(trained["vocab"], merges)
    return models.BPE(trained["vocab"], merges, unk_token=SPECIAL_TOKENS[UNKNOWN], end_of_word_suffix="</w>")


def stable_scores(pieces: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Pieces whose scores and order are the same in every run.

    The trainer sums in the order of a randomly seeded hash map, so that the last digits vary. To characters without a score it gives the lowest score
    plus one FILLER_STEP, two, three and so on, in that order: here they all get the lowest.
    """
    lowest = min(score for _, score in pieces)
    scores = []
    for piece, score in pieces:
        steps = (score - lowest) / FILLER_STEP
        is_filler = len(piece) == 1 and steps < len(pieces) and abs(steps - round(steps)) < 1e-6
        scores.append((piece, round(lowest if is_filler else score, 6)))
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))


def document_blocks(documents: Iterable[list[str]], characters: int) -> Iterator[list[list[str]]]:
    """Lists of documents of about so many characters."""
    block: list[list[str]] = []
    length = 0
    for document in documents:
        block.append(document)
        length += sum(map(len, document))
        if length >= characters:
            yield block
            block, length = [], 0
    if block:
        yield block


def frequent_characters(spec: TokenizerSpec, sentences: Sentences) -> list[str]:
    """The commonest characters, until they make up COVERAGE of the text or their share of the vocabulary is used up."""
    counts, total, max_tokens = np.zeros(0x110000, np.int64), 0, spec.vocab_size or 0
    preprocess = text_preprocessor(TokenizerSpec("characters", lowercase=spec.lowercase)) or str
    for documents in document_blocks(sentences(), 1 << 20):
        text = preprocess(" ".join(" ".join(document) for document in documents))
        points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        counts += np.bincount(points, minlength=len(counts))
        total += len(points)
        if total >= ALPHABET_SAMPLE:
            break
    ranked = np.argsort(-counts, kind="stable")
    covered = np.cumsum(counts[ranked])
    enough = int(np.searchsorted(covered, COVERAGE * total)) + 1 if total > 100_000 else int((counts > 0).sum())
    alphabet = [chr(point) for point in ranked[: min(enough, max_tokens)]]
    # bpe has each character with and without "</w>", wordpiece with and without "##", except those that stand alone
    single = spec.kind == "unigram"
    tokens = np.cumsum([1 if single or (spec.kind == "wordpiece" and has_han(character)) else 2 for character in alphabet])
    return alphabet[: int((tokens <= max_tokens * ALPHABET_SHARE).sum())]


def character_tokens(spec: TokenizerSpec, alphabet: list[str], backend: tokenizers.Tokenizer) -> list[str]:
    """Every token that is a single character, in a fixed order."""
    pretokens = PretokenIndex(spec, backend)
    kinds = {character: pretokens.character_class(character) for character in sorted(alphabet)}
    letters = [character for character, kind in kinds.items() if kind == kernel.LETTER]
    alone = [character for character, kind in kinds.items() if kind == kernel.ISOLATED]
    if spec.kind == "wordpiece":
        return [*alone, *letters, *("##" + letter for letter in letters)]
    return [*letters, *(character + "</w>" for character in alone + letters)]


def replace_rare_characters(documents: Iterable[list[str]], alphabet: list[str], preprocess: Callable[[str], str]) -> Iterator[list[str]]:
    """The documents with a space for every character that is not in the alphabet."""
    other = re.compile(f"[^ {re.escape(''.join(sorted(alphabet)))}]")
    for document in documents:
        yield [other.sub(" ", preprocess(sentence)) for sentence in document]


def until_distinct(documents: Iterable[list[str]], characters: int) -> Iterator[list[str]]:
    """The documents until their distinct words have so many characters."""
    seen: set[str] = set()
    length = 0
    for document in documents:
        yield document
        new = {word for sentence in document for word in sentence.split(" ")} - seen
        seen |= new
        length += sum(map(len, new))
        if length >= characters:
            return
