"""Which column is the text and which the label: named by the user, or guessed from the header by the names people give them."""

import re
from collections.abc import Mapping, Sequence

from stairs.errors import preview
from stairs.text.labelled.files import fault


def words(text: str) -> list[str]:
    return text.split()


def couples(text: str) -> list[tuple[str, str]]:
    return [(one, two) for one, _, two in (couple.partition("+") for couple in text.split())]


TEXT = words("""
    text content sentence review review_body body comment document article utterance tweet message query question description abstract
    headline title 文本 内容 正文 评论 评价 句子 标题 文字 text_a sentence1""")
LABEL = words("""
    label labels gold_label class category target topic sentiment intent polarity emotion stars rating class_index cat tag y
    is_duplicate quality relation entailment entailment_judgment 标签 类别 分类 情感 主题 类型 label_desc label_text""")
SCORE = words("score similarity similarity_score relatedness relatedness_score sim gold_score 分数 得分 相似度")
PAIRS = couples("""
    sentence1+sentence2 sentence_1+sentence_2 sentence_a+sentence_b text1+text2 text_1+text_2 text_a+text_b question1+question2
    premise+hypothesis first+second s1+s2 q1+q2 a+b #1_string+#2_string query+title query+document question+sentence question+answer
    anchor+positive query1+query2 句子1+句子2 文本1+文本2""")
ALIGNED = couples("""
    source+target src+tgt src+trg src+dst source_text+target_text input+output original+translation sentence+translation 原文+译文""")
LANGUAGES = words("""
    ar bg bn ca cs da de el en eo es et fa fi fr he hi hr hu id is it ja ka kk ko la lt lv ms mt nb nl no pl pt ro ru sk sl sr sv sw
    ta th tr uk ur vi yue zh eng cmn zho fra deu spa jpn kor rus ita por english chinese french german spanish japanese korean russian
    italian portuguese 英文 中文 英语 汉语 法语 德语 日语""")
ROLES = {
    "classify": ("text", "label"),
    "compare": ("first", "second", "label"),
    "tag": ("word", "tag"),
    "translate": ("source", "target"),
    "span": (),
    "sense": (),
}
LISTED = 6  # columns that an error names
ALSO = {"compare": ("score",)}  # a role that may stand for the last one

Columns = str | Mapping[str, str] | Sequence[str] | None


def plain(name: str) -> str:
    """'Class Index' -> 'class_index'."""
    return re.sub(r"[\s\-]+", "_", name.strip().casefold())


def is_language(name: str) -> bool:
    return plain(name).split("_")[0] in LANGUAGES


def named(columns: Columns, task: str) -> dict[str, str]:
    """What the user asked for, by role: 'text=review,label=stars', 'review,stars', a list in that order, or a dict."""
    roles = ROLES[task]
    if columns is None:
        return {}
    if isinstance(columns, str):
        parts = [part.strip() for part in columns.split(",")]
        columns = dict(part.split("=", 1) for part in parts) if all("=" in part for part in parts) else parts
    if not isinstance(columns, Mapping):
        columns = dict(zip([*roles, *["one too many"] * len(columns)], columns, strict=False))
    known = roles + ALSO.get(task, ())
    if set(columns) - set(known) or not roles:
        fits = f"this task has the columns {', '.join(known)}" if roles else f"{task} data has no columns to name"
        raise ValueError(fits)
    return {role: str(column) for role, column in columns.items()}


def listed(columns: Sequence[str]) -> str:
    shown = ", ".join(preview(column, 24) for column in columns[:LISTED])
    return shown + (f" and {len(columns) - LISTED} more" if len(columns) > LISTED else "") if columns else "no columns"


def choose(name: str, line: int, columns: Sequence[str], task: str, asked: dict[str, str]) -> dict[str, str]:
    """A column for each role; `asked` wins, the rest is guessed; complains with the columns there are."""
    for role, column in asked.items():
        if column not in columns:
            raise fault(name, line, f"no column {preview(column)} for the {role}; it has {listed(columns)}")
    chosen = dict(asked)
    free = [column for column in columns if column not in asked.values()]
    guess = {"classify": guess_text, "compare": guess_pair, "translate": guess_aligned}[task]
    for role, column in guess(free).items():
        chosen.setdefault(role, column)
    if task == "compare" and {"label", "score"} <= set(chosen):
        chosen.pop("score" if "label" in asked or "score" not in asked else "label")
    roles = [role for role in ROLES[task] if role != "label" or "score" not in chosen]
    spare = [column for column in columns if column not in chosen.values()]
    missing = [role for role in roles if role not in chosen]
    if chosen and len(missing) == 1 and len(spare) == 1 and "id" not in plain(spare[0]).split("_"):
        chosen[missing.pop()] = spare[0]
    if missing:
        wanted = " or ".join(missing) if len(missing) == 1 else f"{', '.join(missing[:-1])} and {missing[-1]}"
        cure = ",".join(f"{role}=NAME" for role in roles)
        raise fault(name, line, f"no column for {wanted} among {listed(columns)}; add a header line or name them with --columns {cure}")
    for role in chosen:
        if list(columns).count(chosen[role]) > 1:
            raise fault(name, line, f"two columns are called {preview(chosen[role])}; rename one of them")
    return {role: chosen[role] for role in (*roles, *ALSO.get(task, ())) if role in chosen}


def group_column(name: str, line: int, columns: Sequence[str], group: str) -> str:
    """The column of the groups, by its name, or by its number from 1."""
    if group in columns:
        return group
    if re.fullmatch(r"[1-9]\d{0,3}", group) and int(group) <= len(columns):
        return columns[int(group) - 1]
    raise fault(name, line, f"no column {preview(group)} for --group; name one of {listed(columns)}, or its number")


def best(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """The column with the likeliest name; a whole name before a part of one ('review_text')."""
    whole = {plain(column): column for column in reversed(columns)}
    for name in names:
        if name in whole:
            return whole[name]
    for name in names:
        for column in columns:
            parts = plain(column).split("_")
            if name in parts and "id" not in parts:
                return column
    return None


def guess_text(columns: Sequence[str]) -> dict[str, str]:
    label = best(columns, LABEL)
    text = best([column for column in columns if column != label], TEXT)
    return {role: column for role, column in (("text", text), ("label", label)) if column}


def matched(columns: Sequence[str], pairs: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    whole = {plain(column): column for column in columns}
    return next(((whole[one], whole[two]) for one, two in pairs if one in whole and two in whole), None)


def guess_pair(columns: Sequence[str]) -> dict[str, str]:
    pair = matched(columns, PAIRS)
    chosen = dict(zip(("first", "second"), pair, strict=True)) if pair else {}
    rest = [column for column in columns if not pair or column not in pair]
    label, score = best(rest, LABEL), best(rest, SCORE)
    if score and (not label or plain(label) not in ("label", "gold_label")):
        return chosen | {"score": score}
    return chosen | ({"label": label} if label else {})


def guess_aligned(columns: Sequence[str]) -> dict[str, str]:
    languages = [column for column in columns if is_language(column)]
    pair = matched(columns, ALIGNED) or (tuple(languages) if len(languages) == 2 else None)
    return dict(zip(("source", "target"), pair, strict=True)) if pair else {}
