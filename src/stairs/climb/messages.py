"""What the report and the explorer say of a climb, in English and in Chinese."""

from collections.abc import Sequence
from typing import Any

LANGUAGES = ("en", "zh")
FORMAT = 1  # of report.json: one of another number is neither continued nor shown
METRIC_NAMES = {  # the metrics by their names; which a task has, METRICS in tasks/metrics.py says
    "accuracy": ("accuracy", "准确率"),
    "macro_f1": ("macro F1", "宏平均 F1"),
    "spearman": ("rank correlation (Spearman)", "等级相关系数（Spearman）"),
    "pearson": ("correlation (Pearson)", "相关系数（Pearson）"),
    "f1": ("F1", "F1"),
    "exact_match": ("exact match", "完全匹配率"),
    "bleu": ("BLEU", "BLEU"),
    "chrf": ("chrF", "chrF"),
}
COSTS: dict[str, tuple[str, str]] = {
    "train": ("CPU time of training (below 3 s, 30 s, 300 s, ...)", "训练的 CPU 时间（3 秒、30 秒、300 秒……以下）"),
    "latency": ("milliseconds per text", "每条文本的毫秒数"),
    "size": ("size on disk", "磁盘占用"),
    "memory": ("peak memory in answering", "回答时的内存峰值"),
}
MILLION = 1_000_000


def rules() -> dict[str, tuple[str, str]]:
    """The rule of a recommendation, for each criterion that may come first."""
    found = {}
    for first in COSTS:
        order = [COSTS[name] for name in (first, *(other for other in ("train", "latency", "size") if other != first))]
        english, chinese = (connection.join(names) for connection, names in zip((", then ", "，其次"), zip(*order, strict=True), strict=True))
        found[first] = (
            f"Rule: a model is as good as the best if the 95 % interval of their paired difference on the same test examples includes 0; of these, "
            f"the cheapest is recommended, by {english} (within a factor of two is equal), then the better score.",
            f"规则：若某模型与得分最高者在相同测试样本上的配对差值的 95 % 置信区间包含 0，就视为同样好；在同样好的模型中推荐代价最低者，"
            f"先比{chinese}（相差不到两倍视为相等），最后比得分。",
        )
    return found


MESSAGES: dict[str, tuple[str, str]] = {
    "title": ("Which model is worth its cost?", "哪个模型值得它的代价？"),
    "recommended": ("Recommended", "推荐"),
    "adopted": ("{models} starts from weights pretrained elsewhere; their training cost is not included.",
                "{models} 以别处预训练的权重为起点；预训练的代价未计入。"),
    "elsewhere": ("+ pretraining elsewhere", "＋别处的预训练"),
    "staircase": ("The staircase", "阶梯"),
    "staircase_see": (
        "Each stair is a model: its height is its score on the test examples, its depth the CPU time it took to train.",
        "每一级是一个模型：高度是它在测试集上的得分，深度是训练所用的 CPU 时间。",
    ),
    "table": ("Score and cost of each model", "各模型的得分与代价"),
    "table_see": (
        "CPU seconds are those of all threads, after a warm-up; a climb that was stopped and continued adds them up. Milliseconds per text are the "
        "median of several passes over 100 test texts. Memory is the peak above what the process held before: in training, and in loading the "
        "model and answering those texts.",
        "CPU 秒数是预热之后所有线程之和；中断后继续的训练会累加。每条文本毫秒数是对 100 条测试文本重复测量的中位数。"
        "内存是超出此前进程占用的峰值：分别在训练时，以及在加载模型并回答这些文本时测得。",
    ),
    "frontier": ("Score against cost", "得分与代价"),
    "frontier_see": (
        "No cheaper model scores higher than one on the line. The bars are 95 % intervals of each score; whether two models differ is decided by the "
        "interval of their paired difference, which is narrower.",
        "没有更便宜的模型得分高于线上的模型。竖线是各得分的 95 % 置信区间；两个模型是否有差别，由更窄的配对差值的置信区间判定。",
    ),
    "curves": ("Learning", "学习过程"),
    "curves_see": (
        "Bits for each character of held-out text, against the minutes of training. Dashed: models that count, and are done at once.",
        "留出文本上每个字符的比特数随训练分钟数的变化。虚线是靠计数、一次完成的模型。",
    ),
    "taught": ("Learning the labels", "学习标签"),
    "taught_see": (
        "The score on the validation examples against the minutes of fine-tuning; pretraining is not counted here.",
        "验证集上的得分随微调分钟数的变化；预训练的时间不计在内。",
    ),
    "disagree": ("Where they disagree", "分歧所在"),
    "disagree_see": (
        "Test examples on which the models give different answers. Wrong answers are marked.",
        "各模型回答不一致的测试样本。错误的回答有标记。",
    ),
    "agree": ("All models give the same answers to the examples that are shown.", "所示样本上各模型的回答都一致。"),
    "again": ("To do it again", "如何重现"),
    "again_see": (
        "The same command within the same time comes close. With --plans-from and the folder of this report, sizes and numbers of steps are those "
        "written here, and the same machine comes to the same scores.",
        "同样的命令、同样的时间会得到相近的结果。加上 --plans-from 和本报告所在的文件夹，模型大小与步数就按这里所写，同一台机器会得到同样的得分。",
    ),
    **METRIC_NAMES,
    "axis_seconds": ("CPU seconds of training", "训练的 CPU 秒数"),
    "axis_minutes": ("minutes of training", "训练分钟数"),
    "model": ("model", "模型"),
    "score": ("score", "得分"),
    "interval": ("95 % interval", "95 % 置信区间"),
    "bits": ("bits per character", "每字符比特数"),
    "cpu": ("training, CPU s", "训练（CPU 秒）"),
    "seconds": ("training, s", "训练（秒）"),
    "per_text": ("ms per text", "每条文本毫秒"),
    "training_mb": ("peak memory in training, MB", "训练内存峰值（MB）"),
    "answering_mb": ("peak memory in answering, MB", "回答内存峰值（MB）"),
    "parameters": ("parameters", "参数"),
    "megabytes": ("size on disk, MB", "磁盘占用（MB）"),
    "text": ("example", "样本"),
    "right": ("right", "正确"),
    "not_tried": ("not tried", "未尝试"),
    "few_updates": ("it made only {updates} updates, too few to learn anything; give it more time",
                    "只更新了 {updates} 次，不足以学到东西；请给更多时间"),
    "like_majority": ("it does no better than always giving the commonest answer ({level:.4f})", "并不比总是回答最常见的答案（{level:.4f}）更好"),
    "like_unigram": ("it predicts no better than word frequencies do ({level:.4f} bits per character)",
                     "预测并不比词频更好（每字符 {level:.4f} 比特）"),
    "learnt_from": ("learnt from {count} examples: there was no time to encode more", "只用 {count} 个样本学习：没有时间编码更多样本"),
    "unlearnt": ("did not learn", "没有学会"),
    "share": ("time given, used (in updates)", "分配、使用的时间（其中更新）"),
    "failed": ("failed", "失败"),
    "nothing": ("There were no labels, so no model is recommended: the lowest bits per character predict the text best.",
                "没有标签，因此不作推荐：每字符比特数最低者对文本预测得最好。"),
    "unjudged": ("No model that learnt something has a score, so none is recommended.", "还没有学会的模型得到评分，因此不作推荐。"),
    "or": ("{first} or {second}", "{first} 或 {second}"),
    "and": ("{first} and {second}", "{first} 和 {second}"),
    "alone": ("{model} scores {score:.4f} on the test examples; there was no other model to compare it with.",
              "{model} 在测试集上得分 {score:.4f}；没有其他模型可比。"),
    "best": ("{model} has the best score, {score:.4f}; the next, {next}, is {difference:.4f} behind (95 % interval of the paired difference "
             "{low:+.4f} to {high:+.4f}).",
             "{model} 得分最高，为 {score:.4f}；其次是 {next}，低 {difference:.4f}（配对差值的 95 % 置信区间为 {low:+.4f} 至 {high:+.4f}）。"),
    "as_good": ("{model} scores {score:.4f}; the best, {best}, scores {best_score:.4f}, and this test cannot tell the two apart: the paired "
                "difference is {difference:.4f} (95 % interval {low:+.4f} to {high:+.4f}).",
                "{model} 得分 {score:.4f}；得分最高的 {best} 为 {best_score:.4f}，而本次测试分不出二者高下：配对差值为 {difference:.4f}"
                "（95 % 置信区间 {low:+.4f} 至 {high:+.4f}）。"),
    "costs": ("{model} costs {cost}; {best} costs {best_cost}.", "{model} 的代价：{cost}；{best} 的代价：{best_cost}。"),
    "cost": ("{cpu:.3g} CPU s of training, {ms:.3g} ms per text and {mb:.3g} MB", "训练 {cpu:.3g} CPU 秒、每条文本 {ms:.3g} 毫秒、{mb:.3g} MB"),
    "would_separate": ("If the difference stays as it is, {more} more test examples would separate them.",
                       "若差值不变，还需{more}个测试样本才能分出高下。"),
    "about": ("about {count:,}", "约 {count:,} "),
    "million": ("more than a million", "一百万以上"),
    "tie": ("The tie is real: {names} cost about the same, and this test cannot tell them apart.",
            "这是真正的平局：{names} 代价相近，本次测试分不出高下。"),
    **{f"rule_{first}": texts for first, texts in rules().items()},
    "separates": ("{test} test examples separate two models that differ by about {least:.4f} or more; a smaller difference may be chance.",
                  "{test} 个测试样本大约能分辨相差 {least:.4f} 以上的两个模型；更小的差别可能只是偶然。"),
    "separates_nothing": ("{test} test examples are too few to separate any two models: give more labelled examples.",
                          "{test} 个测试样本太少，分不出任何两个模型的高下：请提供更多带标签的样本。"),
    "data": ("{train} training, {dev} validation and {test} test examples; task: {example_kind}.",
             "训练集 {train} 个样本，验证集 {dev} 个，测试集 {test} 个；任务：{example_kind}。"),
    "removed_text": ("Not read, since validation or test examples hold the same: {paragraphs:,} paragraphs of {documents:,} documents "
                 "(the corpus has {of_documents:,}).",
                 "因与验证集或测试集的样本相同而未读：{documents:,} 篇文档中的 {paragraphs:,} 个段落（语料共 {of_documents:,} 篇）。"),
}  # fmt: skip


def message(name: str, **values: Any) -> dict[str, str]:
    """A text in every language; a value may have its own words in each."""
    found = {}
    for language, text in zip(LANGUAGES, MESSAGES[name], strict=True):
        found[language] = text.format(**{key: value[language] if isinstance(value, dict) else value for key, value in values.items()})
    return found


def join_names(names: Sequence[str], last: str = "or") -> dict[str, str]:
    """A, B or C; with "and" for `last`, A, B and C."""
    if len(names) == 1:
        return dict.fromkeys(LANGUAGES, names[0])
    return message(last, first={"en": ", ".join(names[:-1]), "zh": "、".join(names[:-1])}, second=names[-1])


def join_sentences(parts: Sequence[dict[str, str]]) -> dict[str, str]:
    """Sentences one after the other; Chinese has no space between them."""
    return {"en": " ".join(part["en"] for part in parts), "zh": "".join(part["zh"] for part in parts)}


def amount(count: int | None) -> dict[str, str]:
    """A number of examples that nobody should take for exact; None for one without end."""
    if count is None or count > MILLION:
        return message("million")
    digits = max(len(str(count)) - 2, 0)
    return message("about", count=-(-count // 10**digits) * 10**digits)


def cost_in_words(row: dict[str, Any]) -> dict[str, str]:
    found = message("cost", cpu=row["cpu_seconds"], ms=row["ms_per_text"], mb=row["megabytes"])
    return join_sentences([found, message("elsewhere")]) if row.get("adopted") else found


def describe_resolution(told: dict[str, Any], test: float) -> dict[str, str]:
    """What so many test examples can tell, and what not."""
    return message("separates_nothing" if told["separates"] is None else "separates", test=test, least=told["separates"])


def advice(told: dict[str, Any] | None, example_kind: str) -> dict[str, str]:
    """Why a model is recommended, or why none is; `example_kind` is the task of the labels, if there are any."""
    return told["why"] if told is not None else message("unjudged" if example_kind else "nothing")
