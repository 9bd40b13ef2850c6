"""Every metric in order: the first of this table that was measured is the one a run is known by, in a climb, in a report and on the page.

Free of torch and numpy, since help texts and pages read it before any model is loaded.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One metric, and how people call it."""

    name: str
    english: str
    chinese: str
    example_kinds: tuple[str, ...] = ()  # the kinds of labelled examples it is defined for; none for metrics of plain text
    higher_is_better: bool = True
    maximum: float = 1.0  # the best possible score, where higher is better


# The first metric that the labelled examples allow is the default of `--metric`: F1 for tags that mark spans, accuracy for other tags, Spearman's
# correlation for numbers, accuracy for labels, micro F1 for several of them. RMSE and MAE are measured, not chosen: on the same examples R² ranks as
# RMSE does. Models that translate choose their best weights by bits per character, since a BLEU of
# the few sentences that there is time to translate during training would be noise.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("f1", "F1", "F1", ("tag", "span", "sense")),
        Metric("micro_f1", "micro F1", "微平均 F1", ("multilabel",)),
        Metric("spearman", "rank correlation (Spearman)", "等级相关系数（Spearman）", ("compare", "regress")),
        Metric("pearson", "correlation (Pearson)", "相关系数（Pearson）", ("compare", "regress")),
        Metric("r2", "R²", "决定系数 R²", ("regress",)),
        Metric("accuracy", "accuracy", "准确率", ("classify", "compare", "choose", "tag")),
        Metric("macro_f1", "macro F1", "宏平均 F1", ("classify", "compare", "multilabel")),
        Metric("bleu", "BLEU", "BLEU", ("translate",), maximum=100.0),
        Metric("chrf", "chrF", "chrF", ("translate",), maximum=100.0),
        Metric("exact_match", "exact match", "完全匹配率", ("multilabel", "span", "translate")),
        Metric("rmse", "root mean squared error", "均方根误差", ("regress",), higher_is_better=False),
        Metric("mae", "mean absolute error", "平均绝对误差", ("regress",), higher_is_better=False),
        Metric("bits_per_character", "bits per character", "每字符比特数", higher_is_better=False),
        Metric("loss", "loss", "损失", higher_is_better=False),
        Metric("perplexity", "perplexity", "困惑度", higher_is_better=False),
        Metric("error", "error", "错误率", higher_is_better=False),
    )
}




def primary_metric(measured: Mapping[str, object], chosen: str = "") -> str | None:
    """The metric that measurements are known by: the one that was chosen, if it was measured, or else the first of the table that was."""
    return next((name for name in (chosen, *METRICS) if has_value(measured.get(name))), None)


def has_value(measured: object) -> bool:
    """Whether it is a measurement: {"value", "low", "high"}."""
    value = measured.get("value") if isinstance(measured, dict) else None
    return isinstance(value, int | float) and not isinstance(value, bool)




