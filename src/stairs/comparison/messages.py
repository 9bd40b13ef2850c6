"""What the report and the explorer say about a climb, in English and Chinese."""

from collections.abc import Sequence

from stairs.comparison.schema import FirstRecommendation, LabelCurve, LocalizedText, Recommendation, Row
from stairs.tasks.metric_table import METRICS

LANGUAGES = ("en", "zh")
COSTS: dict[str, tuple[str, str]] = {
    "train": ("CPU time of training (below 3 s, 30 s, 300 s, ...)", "训练的 CPU 时间（按 3 秒、30 秒、300 秒……分档）"),
    "latency": ("milliseconds per text", "每条文本的毫秒数"),
    "size": ("size on disk", "磁盘占用"),
    "memory": ("peak memory of inference", "推理时的内存峰值"),
}
MILLION = 1_000_000
Value = LocalizedText | str | float | None


def rules() -> dict[str, tuple[str, str]]:
    """The rule of a recommendation, for each criterion that may come first."""
    texts = {}
    for first in COSTS:
        order = [COSTS[name] for name in (first, *(other for other in ("train", "latency", "size") if other != first))]
        english, chinese = (connection.join(names) for connection, names in zip((", then ", "，其次"), zip(*order, strict=True), strict=True))
        texts[first] = (
            f"Rule: a model is as good as the best if the 95 % interval of their paired difference on the same test examples includes 0; of these, "
            f"the cheapest is recommended, by {english} (within a factor of two is equal), then the better score.",
            f"规则：在同样的测试样本上，若某模型与得分最高者的配对差值的 95 % 置信区间包含 0，就视为同样好；在同样好的模型中推荐代价最低的，"
            f"先比{chinese}（相差不到两倍视为相等），最后比得分。",
        )
    return texts


MESSAGES: dict[str, tuple[str, str]] = {
    "title": ("Which model is worth its cost?", "哪个模型最划算？"),
    "recommended": ("Recommended", "推荐"),
    "recommended_models": ("Recommended: {models}.", "推荐：{models}。"),
    "adopted": ("{models} starts from weights pretrained elsewhere; their training cost is not included.",
                "{models} 使用别处预训练的权重，预训练的代价未计入。"),
    "elsewhere": ("+ pretraining elsewhere", "＋ 别处的预训练"),
    "staircase": ("The staircase", "阶梯"),
    "staircase_see": (
        "Each stair is a model: its height is its score on the test examples, its depth the CPU time it took to train. An encoder with + words is "
        "read beside the word vectors and terms of skipgram.",
        "每一级是一个模型：高度是测试集上的得分，宽度是训练所用的 CPU 时间。标有 + words 的编码器与 skipgram 的词向量和词项一起使用。",
    ),
    "table": ("Score and cost of each model", "各模型的得分与代价"),
    "table_see": (
        "CPU seconds are those of all threads, after a warm-up; a climb that was stopped and continued adds them up. Milliseconds per text are the "
        "median of several passes over 100 test texts. Memory is the peak above what the process held before: in training, and in loading the "
        "model and predicting those texts.",
        "CPU 秒数是预热之后所有线程之和；中断后继续的对比会累加。每条文本的毫秒数取 100 条测试文本多次测量的中位数。"
        "内存是相对进程原有占用的增量峰值，分别在训练时，以及加载模型并预测这些文本时测得。",
    ),
    "frontier": ("Score against cost", "得分与代价"),
    "frontier_see": (
        "No cheaper model scores higher than one on the line. The bars are 95 % intervals of each score; whether two models differ is decided by the "
        "interval of their paired difference, which is narrower.",
        "折线是帕累托前沿：没有哪个模型既比线上的便宜，得分又更高。竖线是各得分的 95 % 置信区间；"
        "两个模型是否有差别，看的是配对差值的置信区间，它更窄。",
    ),
    "curves": ("Pretraining", "预训练"),
    "curves_see": (
        "Bits per character on held-out text against minutes of training. Dashed lines: models that count and need one pass.",
        "留出文本上的每字符比特数随训练时间（分钟）的变化。虚线是靠计数、只扫描一遍的模型。",
    ),
    "finetuning": ("Fine-tuning", "微调"),
    "finetuning_see": (
        "The score on the validation examples against the minutes of fine-tuning; pretraining is not counted here.",
        "验证集（用于早停）上的得分随微调时间（分钟）的变化；预训练的时间不计在内。",
    ),
    "disagree": ("Where they disagree", "预测不一致的样本"),
    "disagree_see": (
        "Test examples on which the predictions differ. Wrong predictions are marked.",
        "各模型预测不一致的测试样本，错误的预测有底色。",
    ),
    "details": ("Each model in detail", "各模型的细节"),
    "details_see": (
        "On the test examples: each label, the labels that are confused, and how far the probabilities can be trusted.",
        "在测试集上：每个标签的表现、容易混淆的标签，以及概率是否可信。",
    ),
    "by_label": ("By label", "按标签"),
    "by_tag": ("By type", "按类型"),
    "label": ("label", "标签"),
    "precision": ("precision", "精确率"),
    "recall": ("recall", "召回率"),
    "count_texts": ("examples", "样本数"),
    "count_gold": ("in the gold data", "标准答案中的数量"),
    "worst_labels": ("The {shown} labels with the lowest F1, of {count}; report.json has all of them.",
                     "共 {count} 个标签，此处列出 F1 最低的 {shown} 个；report.json 中有全部。"),
    "confusion": ("Confusion matrix", "混淆矩阵"),
    "confused": ("Confused most", "最易混淆的标签"),
    "predicted": ("predicted", "预测"),
    "calibration": ("Calibration", "校准"),
    "calibration_see": (
        "Predictions of about the same probability together: if the model says 0.8, about 80 % of them should be correct. The error is the mean gap.",
        "把概率相近的预测放在一起：若模型给出 0.8，其中应有约 80 % 是对的。校准误差是两者之差的平均值。",
    ),
    "calibration_error": ("calibration error", "校准误差"),
    "confidence": ("mean probability", "平均概率"),
    "share_correct": ("share correct", "正确率"),
    "baseline_majority": ("always the most frequent label", "总是预测最常见的标签"),
    "baseline_frequent_labels": ("always the most frequent labels", "总是预测最常见的几个标签"),
    "baseline_mean": ("always the mean", "总是预测平均值"),
    "baseline_frequent_tag": ("always the most frequent tag of each word", "总是预测每个词最常见的标记"),
    "baseline_nearest_sentence": ("the sentence most like the question", "与问题最相似的句子"),
    "baseline_nearest_choice": ("the choice most like the context", "与上文最相似的选项"),
    "labels_more": ("How many more labels would help?", "再多标注多少数据有用？"),
    "labels_more_see": (
        "Accuracy by cross-validation with a part of the training and validation labels, and a power law fitted to it; test examples are not used. "
        "The band is the 95 % interval of the forecast.",
        "用一部分训练集和验证集的标签做交叉验证得到的准确率，以及拟合的幂律曲线；不使用测试集。色带是预测的 95 % 置信区间。",
    ),
    "more_labels": ("{model}: doubling the {labels:,} labels would change accuracy from {now:.3f} to about {value:.3f} ({low:.3f} to {high:.3f}), "
                    "four times as many to about {fourfold:.3f} ({fourfold_low:.3f} to {fourfold_high:.3f}).",
                    "{model}：标签从 {labels:,} 个增加一倍，准确率大约从 {now:.3f} 变为 {value:.3f}（{low:.3f} 至 {high:.3f}）；增加到四倍，约为 "
                    "{fourfold:.3f}（{fourfold_low:.3f} 至 {fourfold_high:.3f}）。"),
    "few_labels": ("{count} labels are too few to say what more would give; it takes {least}.",
                   "{count} 个标签太少，无法估计更多标签的效果；至少需要 {least} 个。"),
    "no_curve": ("{model} learns by gradients; a curve would take several more trainings of it and is not measured.",
                 "{model} 通过梯度训练，画出曲线还要再训练几遍，因此没有测量。"),
    "no_time_for_curve": ("There was no time left to measure the curve of {model}, which takes about {seconds:.0f} s; give a longer --budget.",
                          "剩余时间不够测量 {model} 的曲线（约需 {seconds:.0f} 秒）；请用 --budget 给更多时间。"),
    "axis_labels": ("labels", "标签数"),
    "agree": ("All models predict the same for the examples shown.", "在所列样本上，各模型的预测都一致。"),
    "again": ("Reproduce it", "如何复现"),
    "again_see": (
        "The same command and budget give similar scores. With --plans-from and the folder of this report, model sizes and step counts are those "
        "written here, and the same machine gives the same scores.",
        "同样的命令和时间预算会得到相近的得分。加上 --plans-from 和本报告所在的文件夹，就会沿用此处的模型规模和步数，在同一台机器上得到同样的得分。",
    ),
    **{metric.name: (metric.english, metric.chinese) for metric in METRICS.values() if metric.example_kinds},
    "axis_seconds": ("CPU seconds of training", "训练的 CPU 时间（秒）"),
    "axis_minutes": ("minutes of training", "训练时间（分钟）"),
    "model": ("model", "模型"),
    "score": ("score", "得分"),
    "interval": ("95 % interval", "95 % 置信区间"),
    "bits": ("bits per character", "每字符比特数"),
    "cpu": ("training, CPU s", "训练（CPU 秒）"),
    "seconds": ("training, s", "训练（秒）"),
    "per_text": ("ms per text", "每条文本（毫秒）"),
    "training_mb": ("peak memory of training, MB", "训练内存峰值（MB）"),
    "answering_mb": ("peak memory of inference, MB", "推理内存峰值（MB）"),
    "parameters": ("parameters", "参数量"),
    "megabytes": ("size on disk, MB", "磁盘占用（MB）"),
    "text": ("example", "样本"),
    "gold": ("gold", "标准答案"),
    "not_tried": ("not tried", "未训练"),
    "few_updates": ("it made only {updates} updates, too few to learn anything; give it more time",
                    "参数只更新了 {updates} 步，不足以学到东西；请增加时间"),
    "like_majority": ("it is no better than always predicting the most frequent label ({level:.4f})",
                      "不比总是预测最常见的标签（{level:.4f}）更好"),
    "like_frequent_labels": ("it is no better than always predicting the most frequent labels ({level:.4f})",
                             "不比总是预测最常见的几个标签（{level:.4f}）更好"),
    "like_mean": ("it is no better than always predicting the mean", "不比总是预测平均值更好"),
    "like_guessing": ("it is no better than guessing ({level:.4f})", "不比随机猜测（{level:.4f}）更好"),
    "like_unigram": ("it predicts no better than word frequencies do ({level:.4f} bits per character)",
                     "不比只按词频预测更好（每字符 {level:.4f} 比特）"),
    "training_examples": ("trained on {count} examples: there was no time to encode more", "只用了 {count} 个训练样本：时间不够编码更多"),
    "not_learnt": ("did not learn", "没有学会"),
    "beside_words": ("read beside the word vectors and terms of skipgram: {together:.4f} on the validation examples; by itself {alone:.4f}, and "
                     "skipgram without it {words:.4f}",
                     "与 skipgram 的词向量和词项一起使用：验证集得分 {together:.4f}；单独使用为 {alone:.4f}，只有 skipgram 时为 {words:.4f}"),
    "beside_words_tested": ("read beside the word vectors and terms of skipgram, to which it adds {difference:+.4f} (95 % interval {low:+.4f} to "
                            "{high:+.4f}); by itself it scores {alone:.4f}",
                            "与 skipgram 的词向量和词项一起使用，使其得分变化 {difference:+.4f}（95 % 置信区间 {low:+.4f} 至 {high:+.4f}）；"
                            "单独使用时得分 {alone:.4f}"),
    "share": ("time given, used (in updates)", "分配、实际用时（更新占比）"),
    "failed": ("failed", "失败"),
    "nothing": ("There were no labels, so no model is recommended: the one with the fewest bits per character predicts the text best.",
                "没有标签，因此不作推荐：每字符比特数最低的模型对文本预测得最好。"),
    "no_score": ("No model that learnt something has a score, so none is recommended.", "没有一个学会了的模型有得分，因此不作推荐。"),
    "first": ("First recommendation after {seconds:.0f} s, by {examples} validation examples: {model} ({scores}).",
              "{seconds:.0f} 秒后的初步推荐（依据 {examples} 个验证样本）：{model}（{scores}）。"),
    "first_goes_on": ("The slower models go on; Ctrl-C ends with a whole report of those that are done.",
                      "较慢的模型还在训练；按 Ctrl-C 可随时结束，并得到已完成模型的完整报告。"),
    "validation": ("on validation examples", "验证集"),
    "or": ("{first} or {second}", "{first} 或 {second}"),
    "and": ("{first} and {second}", "{first} 和 {second}"),
    "alone": ("{model} scores {score:.4f} on the test examples; there was no other model to compare it with.",
              "{model} 在测试集上得分 {score:.4f}；没有其他模型可比。"),
    "best": ("{model} has the best score, {score:.4f}; the next, {next}, is {difference:.4f} behind (95 % interval of the paired difference "
             "{low:+.4f} to {high:+.4f}).",
             "{model} 得分最高，为 {score:.4f}；其次是 {next}，低 {difference:.4f}（配对差值的 95 % 置信区间为 {low:+.4f} 至 {high:+.4f}）。"),
    "as_good": ("{model} scores {score:.4f}; the best, {best}, scores {best_score:.4f}, and this test cannot tell the two apart: the paired "
                "difference is {difference:.4f} (95 % interval {low:+.4f} to {high:+.4f}).",
                "{model} 得分 {score:.4f}；得分最高的 {best} 为 {best_score:.4f}，而测试集分不出二者高下：配对差值为 {difference:.4f}"
                "（95 % 置信区间 {low:+.4f} 至 {high:+.4f}）。"),
    "costs": ("{model} costs {cost}; {best} costs {best_cost}.", "{model} 的代价：{cost}；{best} 的代价：{best_cost}。"),
    "cost": ("{cpu:.3g} CPU s of training, {ms:.3g} ms per text and {mb:.3g} MB", "训练 {cpu:.3g} CPU 秒、每条文本 {ms:.3g} 毫秒、{mb:.3g} MB"),
    "would_separate": ("If the difference stays as it is, {more} more test examples would separate them.",
                       "若差值不变，还需{more}个测试样本才能分出高下。"),
    "about": ("about {count}", "约 {count}"),
    "million": ("more than a million", "一百万以上"),
    "tie": ("The tie is real: {names} cost about the same, and this test cannot tell them apart.",
            "这是真正的平局：{names} 代价相近，测试集也分不出高下。"),
    "below_for_certain": ("{names} {verb} below tfidf, and the 95 % interval of the paired difference excludes 0",
                          "{names} 的得分低于 tfidf，且配对差值的 95 % 置信区间不包含 0"),
    "below_perhaps": ("{names} {verb} below tfidf, but the 95 % interval of the paired difference includes 0",
                      "{names} 的得分低于 tfidf，但配对差值的 95 % 置信区间包含 0"),
    "encoder_pays": ("No pretrained encoder took part; on {language} texts with a best score of {best:.4f}, one would probably pay; the command "
                     "stairs weights lists those that pip can install.",
                     "没有预训练编码器参加对比；文本是{language}，而最高得分只有 {best:.4f}，用预训练编码器多半会更好；"
                     "命令 stairs weights 列出可以用 pip 安装的权重。"),
    "language_en": ("English", "英文"),
    "language_zh": ("Chinese", "中文"),
    **{f"rule_{first}": texts for first, texts in rules().items()},
    "separates": ("{test} test examples separate two models that differ by about {least:.4f} or more; a smaller difference may be due to chance.",
                  "{test} 个测试样本大约能区分得分相差 {least:.4f} 以上的两个模型；更小的差别可能只是随机波动。"),
    "separates_nothing": ("{test} test examples are too few to separate any two models: give more labelled examples.",
                          "{test} 个测试样本太少，分不出任何两个模型的高下：请提供更多标注样本。"),
    "data": ("{train} training, {dev} validation and {test} test examples; task: {task}.",
             "训练集 {train} 个样本，验证集（用于早停）{dev} 个，测试集 {test} 个；任务：{task}。"),
    "removed_text": ("Left out of the corpus because validation or test examples contain it: {paragraphs:,} paragraphs of {documents:,} documents "
                     "(of {of_documents:,}).",
                 "为避免泄漏，已从语料中剔除与验证集、测试集重复的内容："
                     "{documents:,} 篇文档中的 {paragraphs:,} 个段落（语料共 {of_documents:,} 篇）。"),
}  # fmt: skip


def message(name: str, **values: Value) -> LocalizedText:
    """A message in every language; a value may itself be a text in every language."""
    texts = {}
    for language, text in zip(LANGUAGES, MESSAGES[name], strict=True):
        texts[language] = text.format(**{key: value[language] if isinstance(value, dict) else value for key, value in values.items()})
    return texts


def join_names(names: Sequence[str], conjunction: str = "or") -> LocalizedText:
    """"A, B or C", or with "and"."""
    if len(names) == 1:
        return dict.fromkeys(LANGUAGES, names[0])
    return message(conjunction, first={"en": ", ".join(names[:-1]), "zh": "、".join(names[:-1])}, second=names[-1])


def join_sentences(sentences: Sequence[LocalizedText]) -> LocalizedText:
    """One after the other; Chinese has no space between them."""
    return {"en": " ".join(sentence["en"] for sentence in sentences), "zh": "".join(sentence["zh"] for sentence in sentences)}


def approximate_count(count: int | None) -> LocalizedText:
    """A number of examples that nobody should take for exact; None: no number is enough."""
    if count is None or count > MILLION:
        return message("million")
    digits = max(len(str(count)) - 2, 0)
    return message("about", count=format_count(-(-count // 10**digits) * 10**digits))


def format_count(count: int) -> LocalizedText:
    """650,304, or in Chinese 65.03 万; a number that ends in a digit has a space before what is counted."""
    for unit, name in ((10**8, "亿"), (10**4, "万")):
        if count >= unit:
            return {"en": f"{count:,}", "zh": f"{count / unit:.4g} {name}"}
    return {"en": f"{count:,}", "zh": f"{count:,} "}


def describe_cost(row: Row) -> LocalizedText:
    cost = message("cost", cpu=row["cpu_seconds"], ms=row["ms_per_text"], mb=row["megabytes"])
    return join_sentences([cost, message("elsewhere")]) if row.get("is_adopted") else cost


def describe_resolution(detectable_difference: float | None, test_examples: float) -> LocalizedText:
    """Which differences so many test examples can tell from chance."""
    name = "separates_nothing" if detectable_difference is None else "separates"
    return message(name, test=test_examples, least=detectable_difference)


def describe_first(found: FirstRecommendation) -> LocalizedText:
    """The recommendation before the test examples are read."""
    best = sorted(found["scores"].items(), key=lambda own: -own[1])
    scores = ", ".join(f"{model} {score:.4f}" for model, score in best)
    facts = message("first", seconds=found["seconds"], examples=found["examples"], model=found["model"], scores=scores)
    return join_sentences([facts, message("first_goes_on")])


def describe_below_tfidf(recommendation: Recommendation) -> LocalizedText | None:
    """Which models score lower than tfidf, and for which of them that is no accident of this test; None if no model does."""
    parts = []
    for name, is_significant in (("below_for_certain", True), ("below_perhaps", False)):
        models = [own["model"] for own in recommendation.get("below_tfidf", ()) if own["is_significant"] == is_significant]
        if models:
            parts.append(message(name, names=join_names(models, "and"), verb="scores" if len(models) == 1 else "score"))
    if not parts:
        return None
    return {"en": "; ".join(part["en"] for part in parts) + ".", "zh": "；".join(part["zh"] for part in parts) + "。"}


def advice(recommendation: Recommendation | None, has_labels: bool) -> LocalizedText:
    """Why a model is recommended, or why none is."""
    return recommendation["why"] if recommendation is not None else message("no_score" if has_labels else "nothing")


def curve_sentence(curve: LabelCurve) -> LocalizedText:
    """What twice as many labels would give."""
    now, double, fourfold = (own["score"] for own in curve["forecasts"])
    return message(
        "more_labels", model=curve["model"], labels=curve["forecasts"][0]["labels"], now=now["value"], value=double["value"], low=double["low"],
        high=double["high"], fourfold=fourfold["value"], fourfold_low=fourfold["low"], fourfold_high=fourfold["high"],
    )  # fmt: skip
