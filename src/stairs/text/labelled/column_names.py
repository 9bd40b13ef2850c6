"""Which column is the text and which the label: named by the user, or guessed from the names in the header."""

import re
import shlex
from collections.abc import Mapping, Sequence

from stairs.errors import BadInput, preview
from stairs.text.tables.csv_table import find_column
from stairs.text.tables.lines import input_error


def word_list(text: str) -> list[str]:
    return text.split()


def pair_list(text: str) -> list[tuple[str, str]]:
    return [(one, two) for one, _, two in (couple.partition("+") for couple in text.split())]


TEXT = tuple(map(word_list, (  # the more probable ones first; two columns with names of one line leave a choice
    "text 文本",
    """content sentence review review_body body comment document article utterance tweet message
    内容 正文 评论 评价 句子 文字 text_a sentence1""",
    "query question description abstract",
    "headline title 标题",
)))  # fmt: skip
LABEL = tuple(map(word_list, (
    "label 标签",
    """labels gold_label class category target topic sentiment intent polarity emotion stars rating class_index cat tag y
    tags topics categories genres emotions
    is_duplicate quality relation entailment entailment_judgment 类别 分类 情感 主题 类型 label_desc label_text""",
)))  # fmt: skip
NUMBERS = word_list("score price value amount points 分数 得分 评分 价格")  # to predict from a text
OWN_LABEL = ("label", "gold_label", "标签")  # of a pair, which may have a score besides
NEGATIVE = word_list("negative neg hard_negative hard_neg negatives negative_text")  # the third of a triplet
SCORE = (word_list("score similarity similarity_score relatedness relatedness_score sim gold_score 分数 得分 相似度"),)
PAIRS = pair_list("""
    sentence1+sentence2 sentence_1+sentence_2 sentence_a+sentence_b text1+text2 text_1+text_2 text_a+text_b question1+question2
    premise+hypothesis first+second s1+s2 q1+q2 a+b #1_string+#2_string query+title query+document query+passage question+passage question+context
    question+sentence question+answer claim+evidence
    anchor+positive query1+query2 句子1+句子2 文本1+文本2""")
PARALLEL = pair_list("""
    source+target src+tgt src+trg src+dst source_text+target_text input+output original+translation sentence+translation 原文+译文""")
LANGUAGES = word_list("""
    ar bg bn ca cs da de el en eo es et fa fi fr he hi hr hu id is it ja ka kk ko la lt lv ms mt nb nl no pl pt ro ru sk sl sr sv sw
    ta th tr uk ur vi yue zh eng cmn zho fra deu spa jpn kor rus ita por english chinese french german spanish japanese korean russian
    italian portuguese 英文 中文 英语 汉语 法语 德语 日语""")
ROLES = {
    "classify": ("text", "label"),
    "multilabel": ("text", "label"),
    "regress": ("text", "label"),
    "compare": ("first", "second", "label"),
    "tag": ("word", "tag"),
    "translate": ("source", "target"),
    "choose": ("context", "choices", "label"),
    "span": (),
    "sense": (),
}
MAX_NAME_PARTS = 4  # of a column name; a longer one is a sentence
MAX_LISTED = 6  # columns in an error
OPTIONAL_ROLES = {"compare": ("score",), "tag": ("sentence",)}  # a score instead of the label; the sentence of a word

# What people call a column, in flags and keywords, by the role that it has in a task
FLAG_ROLES = {
    "compare": {"text": "first", "second_column": "second"},
    "tag": {"text": "word", "label": "tag", "id": "sentence"},
    "translate": {"text": "source", "second_column": "target"},
    "choose": {"text": "context", "second_column": "choices"},
}
FLAGS = {"text", "label", "second_column", "id"}
FLAG_OF = {
    "text": "text", "first": "text", "word": "text", "source": "text", "label": "label", "score": "label", "tag": "label",
    "second": "second-column", "target": "second-column", "sentence": "id", "context": "text", "choices": "second-column",
}  # fmt: skip

Columns = str | Mapping[str, str] | Sequence[str] | None


def normalize_name(name: str) -> str:
    """'Class Index' -> 'class_index'."""
    return re.sub(r"[\s\-]+", "_", name.strip().casefold())


def spellings(name: str) -> list[str]:
    """'OriginalTweet' -> 'originaltweet', 'original_tweet'."""
    return list(dict.fromkeys((normalize_name(name), normalize_name(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)))))


def is_language(name: str) -> bool:
    return normalize_name(name).split("_")[0] in LANGUAGES


def parse_columns(columns: Columns, task: str) -> dict[str, str]:
    """The columns that the user named, by role: 'text=review,label=stars', 'review,stars', a list in that order, or a dict."""
    roles = ROLES[task]
    if columns is None:
        return {}
    if isinstance(columns, str):
        parts = [part.strip() for part in columns.split(",")]
        columns = dict(part.split("=", 1) for part in parts) if all("=" in part for part in parts) else parts
    if not isinstance(columns, Mapping):
        columns = dict(zip([*roles, *["one too many"] * len(columns)], columns, strict=False))
    by_flag = FLAG_ROLES.get(task, {})
    columns = {by_flag.get(name, name): column for name, column in columns.items() if name != "id" or "id" in by_flag}
    known = roles + OPTIONAL_ROLES.get(task, ())
    if set(columns) - set(known) or not roles:
        flags = ", ".join(dict.fromkeys(FLAG_OF[role] for role in known))
        raise ValueError(f"this task has the columns {flags}" if roles else f"{task} data has no columns to name")
    return {role: str(column) for role, column in columns.items()}


def columns_error(name: str, columns: Columns, error: ValueError) -> BadInput:
    return BadInput(f"{name}: the columns that are named, {preview(columns)}, cannot be used; {error}")


def columns_flag(chosen: Mapping[str, str]) -> str:
    """The flags that name these columns, by role."""
    return " ".join(f"--{FLAG_OF[role]}={shlex.quote(column)}" for role, column in chosen.items())


def list_columns(columns: Sequence[str]) -> str:
    names_text = ", ".join(preview(column, 24) for column in columns[:MAX_LISTED])
    return names_text + (f" and {len(columns) - MAX_LISTED} more" if len(columns) > MAX_LISTED else "") if columns else "no columns"


def likely_columns(columns: Sequence[str], names: Sequence[Sequence[str]]) -> list[str]:
    """The columns with the most probable names, in their order; complete names before parts of one ('review_text')."""
    complete = [(column, spellings(column)) for column in columns]
    parts = [(column, own[-1].split("_")) for column, own in complete]
    parts = [(column, own) for column, own in parts if len(own) <= MAX_NAME_PARTS and "id" not in own]
    for tiers in (names[:2], *([tier] for tier in names[2:])):  # a part of a common name before a complete rare one: 'Review Text' before 'Title'
        for known in (complete, parts):
            for likely in tiers:
                matches = [column for column, own in known if set(own) & set(likely)]
                if matches:
                    return matches
    return []


def choose_named(name: str, line: int, columns: Sequence[str], column: str, flag: str) -> str:
    """The column that a flag names, by its name, or by its number from 1."""
    match = find_column(columns, column)
    if match is None:
        raise input_error(name, line, f"no column {preview(column)} for --{flag}; name one of {list_columns(columns)}, or its number")
    return match


def guess_text(columns: Sequence[str]) -> dict[str, list[str]]:
    label = likely_columns(columns, (*LABEL, NUMBERS))
    text = likely_columns([column for column in columns if column not in label], TEXT)
    return {role: matches for role, matches in (("text", text), ("label", label)) if matches}


def match_pair(columns: Sequence[str], pairs: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    by_name = {name: column for column in columns for name in spellings(column)}
    return next(((by_name[one], by_name[two]) for one, two in pairs if one in by_name and two in by_name), None)


def guess_pair(columns: Sequence[str]) -> dict[str, list[str]]:
    pair = match_pair(columns, PAIRS)
    chosen = {role: [column] for role, column in zip(("first", "second"), pair or (), strict=False)}
    rest = [column for column in columns if not pair or column not in pair]
    label, score = likely_columns(rest, LABEL), likely_columns(rest, SCORE)
    own = [column for column in label if normalize_name(column) in OWN_LABEL]
    if own:
        return chosen | {"label": own}
    return chosen | {role: matches for role, matches in (("score", score), ("label", [each for each in label if each not in score])) if matches}


def guess_parallel(columns: Sequence[str]) -> dict[str, list[str]]:
    languages = [column for column in columns if is_language(column)]
    pair = match_pair(columns, PARALLEL) or (tuple(languages) if len(languages) == 2 else None)
    return {role: [column] for role, column in zip(("source", "target"), pair or (), strict=False)}
