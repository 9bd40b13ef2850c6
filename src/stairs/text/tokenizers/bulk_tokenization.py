"""Much text at once: its vocabulary is learnt, by counting for words and characters and by the library's trainers for subwords; and it is encoded,
each distinct pre-token once, by the library, and spliced in wherever it occurs.

Departures: subword trainers see characters that make up COVERAGE of the text, so that rare ones do not crowd out the pieces (byte-bpe needs no such
limit).
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from stairs.errors import BadInput, Unsupported
from stairs.kernels import pretokens as kernel
from stairs.text.chinese import has_han
from stairs.text.encoding import lone_surrogate_error
from stairs.text.special import BEGIN, END, SPECIAL_TOKENS, UNKNOWN
from stairs.text.tokenizers.pretoken_index import Gaps, PretokenIndex, grow_array, text_preprocessor
from stairs.text.tokenizers.spec import TokenizerSpec, assemble_backend, build_model
from stairs.text.tokenizers.unigram_training import stable_scores, until_distinct
from stairs.text.tokenizers.word_pieces import PRETOKEN_FORMS, piece_text

if TYPE_CHECKING:
    from stairs.text.tokenizers.tokenizer import Tokenizer

Sentences = Callable[[], Iterable[list[str]]]  # a fresh iterator of documents, each a list of sentences
COVERAGE = 0.9995
ALPHABET_SHARE = 0.75  # of the vocabulary, at most
ALPHABET_SAMPLE = 16_000_000  # characters that the alphabet is counted on
FORBIDDEN_SCORE = -1e6  # of a special token spelled in a text
ASCII = [chr(code) for code in range(33, 127)]
MAX_PRETOKENS, MAX_SPELLING_BYTES = 1 << 21, 1 << 26  # an encoder that has cached more than this starts anew


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


def count_pretokens(spec: TokenizerSpec, sentences: Sentences) -> "PretokenCounts":
    pretokens = PretokenIndex(spec, assemble_backend(spec, build_model(spec.kind)))
    counts = PretokenCounts(pretokens)
    for documents in document_blocks(sentences(), 1 << 20):
        counts.add(pretokens.number_block(pretokens.block(documents)))
    return counts


def vocabulary_from_counts(spec: TokenizerSpec, counts: "PretokenCounts") -> tuple[tokenizers.Tokenizer, list[str], np.ndarray]:
    """A backend with the special tokens and the commonest pre-tokens, its vocabulary, and the numbers of those pre-tokens."""
    limit = None if spec.vocab_size is None else spec.vocab_size - len(SPECIAL_TOKENS)
    spellings = counts.pretokens.spellings()
    chosen = counts.most_common(limit, spec.min_count)
    vocabulary = [*SPECIAL_TOKENS, *(spellings[number] for number in chosen.tolist())]
    if not len(chosen):
        raise BadInput("no word is frequent enough for the vocabulary; give more text or a lower --min-count")
    ids = {token: number for number, token in enumerate(vocabulary)}
    return assemble_backend(spec, build_model(spec.kind, ids)), vocabulary, chosen


def train_subwords(spec: TokenizerSpec, sentences: Sentences) -> tokenizers.Tokenizer:
    backend = assemble_backend(spec, build_model(spec.kind))
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
            text = until_distinct(text)
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
    return build_model(spec.kind, trained["vocab"], merges)


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


class EncodedDocuments(NamedTuple):
    ids: np.ndarray  # uint16, or uint32 when the vocabulary is larger; [SEP] after each sentence, [CLS] after the last of a document
    unknown_words: int
    spelling_bits: float  # what it takes to spell the unknown words
    spacing_bits: float = 0.0  # and to restore the spaces


class BulkEncoder:
    """Encodes many documents at once: `BulkEncoder(tokenizer).encode_documents([["One sentence.", "Another."]]).ids`."""

    def __init__(self, tokenizer: "Tokenizer"):
        if (tokenizer.begin, tokenizer.end) != (BEGIN, END):
            raise Unsupported("this run was adopted from another tool, which marks sentences in its own way; ask it, or train a run to score text")
        self.tokenizer = tokenizer
        self.pretokens = PretokenIndex(tokenizer.spec, tokenizer.backend)
        self.dtype = id_dtype(tokenizer.id_count)
        self.reset()

    def reset(self) -> None:
        self.pretokens.clear()
        self.encoded_count = 0
        self.offsets = np.zeros(1 << 15, np.int64)
        self.ids: np.ndarray = np.zeros(1 << 16, self.dtype)
        self.unknown = np.zeros(1 << 15, np.int64)
        self.bits = np.zeros(1 << 15, np.float64)

    def encode_documents(self, documents: list[list[str]]) -> EncodedDocuments:
        block = self.pretokens.block(documents)
        encoded = self.encode_block(block)
        if self.tokenizer.spacing is None:
            return encoded
        gaps = Gaps()
        self.pretokens.count_gaps(block, gaps)
        return encoded._replace(spacing_bits=self.tokenizer.spacing.bits(gaps))

    def encode_block(self, block: bytes) -> EncodedDocuments:
        """Encode a block that `self.pretokens.block` made."""
        if self.tokenizer.encodes_sentences:
            return self.encode_sentences(block)
        if self.encoded_count > MAX_PRETOKENS or self.pretokens.starts[self.encoded_count] > MAX_SPELLING_BYTES:
            self.reset()
        numbers = self.pretokens.number_block(block)
        self.encode_new()
        out = np.empty(kernel.spliced_size(numbers, self.offsets), self.dtype)
        kernel.splice(numbers, self.offsets, self.ids, END, BEGIN, out)
        words, bits = kernel.unknown_totals(numbers, self.unknown, self.bits)
        return EncodedDocuments(out, int(words), float(bits))

    def encode_sentences(self, block: bytes) -> EncodedDocuments:
        """Sentence by sentence, for a tokenizer that has no pre-tokens."""
        ids: list[int] = []
        unknown: list[str] = []
        for document in block.split(b"\xfe")[:-1]:
            for sentence in map(bytes.decode, document.split(b"\xff")):
                own = self.tokenizer.encode(sentence)
                ids += [*own, END]
                unknown += self.tokenizer.unknown_words(sentence) if UNKNOWN in own else []
            ids[-1] = BEGIN
        return EncodedDocuments(np.array(ids, self.dtype), len(unknown), sum(map(self.tokenizer.spelling_bits, unknown)))

    def encode_new(self) -> None:
        """Let the library encode the pre-tokens that are new."""
        if self.encoded_count == self.pretokens.distinct_count:
            return
        first, self.encoded_count = self.encoded_count, self.pretokens.distinct_count
        spellings = self.pretokens.spellings(first)
        pieces = self.tokenizer.encode_pretokens(spellings)
        flat: np.ndarray = np.fromiter((one for ids in pieces for one in ids), self.dtype)
        ends = np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces))) + self.offsets[first]
        self.offsets = grow_array(self.offsets, self.encoded_count + 1)
        self.unknown, self.bits = grow_array(self.unknown, self.encoded_count), grow_array(self.bits, self.encoded_count)
        self.ids = grow_array(self.ids, int(ends[-1]))
        self.ids[self.offsets[first] : ends[-1]] = flat
        self.offsets[first + 1 : self.encoded_count + 1] = ends
        for at, ids in enumerate(pieces):
            if UNKNOWN in ids:
                unknown = self.unknown_words(spellings[at])
                self.unknown[first + at] = len(unknown)
                self.bits[first + at] = sum(map(self.tokenizer.spelling_bits, unknown))

    def unknown_words(self, spelling: str) -> list[str]:
        """What is unknown of a pre-token: all of it, or some of its characters."""
        kind, backend = self.tokenizer.spec.kind, self.tokenizer.backend
        if kind in ("words", "characters", "wordpiece"):
            return [spelling]
        form = PRETOKEN_FORMS.get(kind, str)(spelling)
        return [piece_text(form, piece.offsets) for piece in backend.model.tokenize(form) if piece.id == self.tokenizer.unknown]


class PretokenCounts:
    """How often each pre-token occurs, for vocabularies of whole words or characters."""

    def __init__(self, pretokens: PretokenIndex):
        self.pretokens = pretokens
        self.counts = np.zeros(1 << 15, np.int64)
        self.order = np.zeros(1 << 15, np.int64)
        self.seen_count = 0

    def add(self, numbers: np.ndarray) -> None:
        self.counts = grow_array(self.counts, self.pretokens.distinct_count)
        self.order = grow_array(self.order, self.pretokens.distinct_count)
        self.seen_count = kernel.count_numbers(numbers, self.counts, self.order, self.seen_count)

    def most_common(self, limit: int | None, min_count: int) -> np.ndarray:
        """The numbers of the pre-tokens by falling count; of equals the first seen first."""
        order = self.order[: self.seen_count]
        counts = self.counts[order]
        ranked = order[np.argsort(-counts, kind="stable")]
        return ranked[: min(len(ranked) if limit is None else limit, int((counts >= min_count).sum()))]


def id_dtype(vocab_size: int) -> type[np.uint16] | type[np.uint32]:
    return np.uint16 if vocab_size <= 65536 else np.uint32
