"""How a translation came about: which source tokens each output token attended to, and the hypotheses of beam search."""

from typing import TypedDict

from stairs.errors import Unsupported
from stairs.inspection.attention import Rows, check_head, rounded_rows
from stairs.inspection.views import aligns, translates, view
from stairs.layers.capture import capture
from stairs.models.transformer import Transformer
from stairs.tasks.answers import TreeNode
from stairs.tasks.translate import BEAM_SIZE, Translate


class AlignmentData(TypedDict):
    text: str
    translation: str
    source: list[str]
    target: list[str]
    weights: Rows  # a row for each output token, a column for each source token


class TreeData(TypedDict):
    text: str
    translation: str
    steps: list[list[TreeNode]]


@view(aligns)
def alignment(task: Translate, text: str, *, layer: int | None = None, head: int | None = None) -> AlignmentData:
    """The attention of each output token to the source tokens; for a Transformer also that of one layer or one head."""
    (source,) = task.encode_texts([text])
    output_ids = task.search([source], BEAM_SIZE)[0].hypotheses[0].ids
    with capture(task.model) as outputs:
        found = task.alignment(source, output_ids)
    assert found is not None
    weights = found["weights"]
    if layer is not None or head is not None:
        if not isinstance(task.model, Transformer):
            raise Unsupported(f"{task.model_name} has one attention, without layers and heads; leave --layer and --head out")
        heads = outputs[f"decoder_blocks.{task.model.check_layer(layer or 0)}.cross_attention"][0]
        weights = rounded_rows((heads.mean(0) if head is None else heads[check_head(task, head, len(heads))]).float().numpy())
    return {"text": text, "translation": task.tokenizer.decode(output_ids), "source": found["source"], "target": found["target"], "weights": weights}


@view(translates)
def beam_tree(task: Translate, text: str) -> TreeData:
    """The hypotheses of beam search, step by step."""
    answer = task.answer(text)
    return {"text": text, "translation": answer["translation"], "steps": answer["tree"]}
