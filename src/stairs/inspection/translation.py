"""How a translation came about: which token looked at which of the source, and the beginnings that beam search tried."""

from typing import Any

from stairs.errors import Unsupported
from stairs.inspection.attention import check_head, rounded_rows
from stairs.inspection.tokens import Data
from stairs.layers.capture import capture
from stairs.tasks.translate import BEAM, Translate


def alignment(task: Translate, text: str, *, layer: int | None = None, head: int | None = None) -> Data:
    """The best translation, and how much each of its tokens looked at each of the text; of a Transformer also by one layer or one head."""
    (source,) = task.encode_texts([text])
    said = task.search([source], BEAM)[0].hypotheses[0].ids
    data = {"text": text, "translation": task.tokenizer.decode(said)}
    if layer is None and head is None:
        return {**data, **(task.alignment(source, said) or {})}
    blocks: Any = getattr(task.model, "decoder_blocks", None)
    if blocks is None:
        raise Unsupported(f"{task.model_name} looks at the source once, without layers or heads; leave --layer and --head out")
    number = task.model.check_layer(layer or 0)
    with capture(task.model, blocks[number].cross_attention) as seen:
        aligned = task.alignment(source, said)
    (weights,) = seen.values()
    chosen = weights[0].mean(0) if head is None else weights[0, check_head(task, head, weights.shape[1])]
    return {**data, **(aligned or {}), "weights": rounded_rows(chosen.float().numpy())}


def beam_tree(task: Translate, text: str) -> Data:
    """Step by step."""
    answer = task.answer(text)
    return {"text": text, "translation": answer["translation"], "steps": answer["tree"]}
