"""Structural positions for a run that was pretrained on plain text: its weights, and new ones that start at 0.

    encode(batch) before any update = encode(batch) of the run,   for the new vectors of distances and depths add nothing yet      see models/bert.py

So a tagger starts from all that the run has learnt, and learns from parsed sentences what the trees are good for.
"""

from dataclasses import replace

from stairs.errors import BadInput, Unsupported
from stairs.models.base import Model
from stairs.models.bert import BERT
from stairs.models.transfer_options import TransferOptions

TREE_DISTANCE = 16  # the largest distance and depth with vectors of their own


def with_trees(model: Model) -> Model:
    """The model with structural positions, of which it knows nothing yet; one that has them already stays as it is."""
    check_takes_trees(model)
    if model.needs_trees:
        return model
    assert isinstance(model, BERT)
    extended = BERT(replace(model.config, tree_distance=TREE_DISTANCE))
    extended.load_state_dict(model.state_dict(), strict=False)
    return extended.eval()


def check_trees(transfer: TransferOptions, model: Model) -> None:
    """Refuse structural positions where nothing would learn them, and a model that has them where nobody asks for them."""
    if not transfer.structural_positions:
        if model.needs_trees:
            advice = "give --structural-positions again, or the run that it was tuned from"
            raise Unsupported(f"this {model.name} was tuned with --structural-positions and reads nothing without dependency trees; {advice}")
        return
    check_takes_trees(model)
    if not transfer.trains_encoder:
        raise BadInput(f"--structural-positions adds weights to the encoder, and --transfer {transfer.transfer} trains none of it; use full or top")


def check_takes_trees(model: Model) -> None:
    if not model.takes_trees:
        raise Unsupported(f"--structural-positions is for bert, and this is a {model.name} run; leave it out")
