"""What the report and the explorer say of a climb, in English and in Chinese."""

from typing import Any

LANGUAGES = ("en", "zh")
FORMAT = 1  # of report.json: one of another number is neither continued nor shown
QUALITIES = {  # the metrics by their names; which a task has, METRICS in tasks/metrics.py says
    "accuracy": ("accuracy", "准确率"),
    "macro_f1": ("macro F1", "宏平均 F1"),
    "spearman": ("rank correlation (Spearman)", "等级相关系数（Spearman）"),
    "pearson": ("correlation (Pearson)", "相关系数（Pearson）"),
    "f1": ("F1", "F1"),
    "exact": ("exact match", "完全匹配率"),
    "bleu": ("BLEU", "BLEU"),
    "chrf": ("chrF", "chrF"),
}
WORDS: dict[str, tuple[str, str]] = {
    "title": ("Which step is worth it?", "爬到哪一级才值得？"),
    "recommended": ("Recommended", "推荐"),
    "adopted": ("Others have trained the weights that {steps} begins with; what that cost is not counted.",
                "{steps} 起步所用的权重由别人训练；那部分代价未计入。"),
    "staircase": ("The staircase", "阶梯"),
    "staircase_see": (
        "Each stair is a step: its height is how well it does on the held-out examples, its depth what it cost to train.",
        "每一级台阶是一个模型：高度是它在留出样本上的得分，深度是训练的代价。",
    ),
    "table": ("What each step is worth, and what it costs", "每一级的价值与代价"),
    "frontier": ("Quality against cost", "质量与代价"),
    "frontier_see": (
        "Steps on the line are not beaten by any that costs less. The bars are 95 % intervals: where they overlap, a difference may be chance.",
        "线上的台阶没有被更便宜的台阶超过。竖线是 95 % 置信区间：重叠之处，差别可能只是偶然。",
    ),
    "curves": ("Learning", "学习过程"),
    "curves_see": (
        "Bits for each character of held-out text, against the minutes of training. Dashed: steps that count, and are done at once.",
        "留出文本上每个字符的比特数随训练分钟数的变化。虚线是靠计数、一次完成的台阶。",
    ),
    "taught": ("Learning the labels", "学习标签"),
    "taught_see": (
        "The score on the examples that tell when to stop, against the minutes of teaching; what reading took before is not counted here.",
        "用于决定何时停止的样本上的得分随教学分钟数的变化；此前阅读文本的时间不计在内。",
    ),
    "disagree": ("Where they disagree", "分歧所在"),
    "disagree_see": (
        "Held-out examples on which the steps do not say the same. Wrong answers are marked.",
        "各级台阶说法不一的留出样本。错误的回答有标记。",
    ),
    "agree": ("All steps say the same of the examples that are shown.", "所示样本上各级台阶的说法都一致。"),
    "again": ("To do it again", "如何重现"),
    "again_see": (
        "The same command within the same time comes close. With --like and the folder of this report, sizes and numbers of steps are those "
        "written here, and the same machine comes to the same scores.",
        "同样的命令、同样的时间会得到相近的结果。加上 --like 和本报告所在的文件夹，模型大小与步数就按这里所写，同一台机器会得到同样的得分。",
    ),
    **QUALITIES,
    "axis_seconds": ("seconds of training", "训练秒数"),
    "axis_minutes": ("minutes of training", "训练分钟数"),
    "step": ("step", "台阶"),
    "score": ("score", "得分"),
    "interval": ("95 % interval", "95 % 区间"),
    "bits": ("bits per character", "每字符比特数"),
    "seconds": ("training, s", "训练（秒）"),
    "per_text": ("ms per text", "每条文本毫秒"),
    "parameters": ("weights", "参数"),
    "megabytes": ("MB", "MB"),
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
    "nothing": ("There were no labels, so no step is recommended: the lowest bits per character predict the text best.",
                "没有标签，因此不作推荐：每字符比特数最低者对文本预测得最好。"),
    "unjudged": ("No model that learnt something has a score, so none is recommended.", "还没有学会的模型得到评分，因此不作推荐。"),
    "alone": ("{step} scores {score:.4f} on the held-out examples; there was no other step to compare it with.",
              "{step} 在留出样本上得分 {score:.4f}；没有其他台阶可比。"),
    "best": ("{step} scores {score:.4f} on the held-out examples, and no cheaper step comes within its 95 % interval.",
             "{step} 在留出样本上得分 {score:.4f}，没有更便宜的台阶进入它的 95 % 区间。"),
    "cheaper": ("{step} scores {score:.4f} on the held-out examples, within the 95 % interval of the best ({best}, {low:.4f} to {high:.4f}), "
                "and takes {seconds:.1f} s instead of {best_seconds:.1f} s.",
                "{step} 在留出样本上得分 {score:.4f}，落在最佳者（{best}，{low:.4f} 至 {high:.4f}）的 95 % 区间之内，"
                "训练只需 {seconds:.1f} 秒而不是 {best_seconds:.1f} 秒。"),
    "data": ("{train} examples to learn from, {dev} to tell when to stop, {test} to judge by; task: {asks}.",
             "{train} 个样本用于学习，{dev} 个用于决定何时停止，{test} 个用于评判；任务：{asks}。"),
    "left_out": ("Not read, since validation or test examples hold the same: {paragraphs:,} paragraphs of {documents:,} documents "
                 "(the corpus has {of_documents:,}).",
                 "因与验证集或测试集的样本相同而未读：{documents:,} 篇文档中的 {paragraphs:,} 个段落（语料共 {of_documents:,} 篇）。"),
}  # fmt: skip


def worded(name: str, **values: Any) -> dict[str, str]:
    """A text in every language."""
    return {language: text.format(**values) for language, text in zip(LANGUAGES, WORDS[name], strict=True)}


def advice(told: dict[str, Any] | None, asks: str) -> dict[str, str]:
    """Why a step is recommended, or why none is; `asks` is the task of the labels, if there are any."""
    if told is None:
        return worded("unjudged" if asks else "nothing")
    return worded("alone" if told["alone"] else "best" if told["step"] == told["best"] else "cheaper", **told)
