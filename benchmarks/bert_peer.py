"""BertForPreTraining of `transformers` with the weights of ours, so that both have the same work to do."""

from torch import nn

from stairs.formats.huggingface.bert_mapping import hf_config, tensor_pairs
from stairs.models.bert import BERT


def bert(ours: BERT) -> nn.Module:
    """The peer, a weight-for-weight copy."""
    import transformers

    transformers.logging.set_verbosity_error()
    theirs = transformers.BertForPreTraining(transformers.BertConfig(**hf_config(ours.config, {"pad": 0}, None)))
    held = ours.state_dict()
    copied = {pair.theirs: held[pair.ours[0]] for pair in tensor_pairs(ours.config)}
    missing, unknown = theirs.load_state_dict(copied, strict=False)
    assert not unknown and all(name.startswith("cls.predictions.decoder") for name in missing), (missing, unknown)
    theirs.tie_weights()
    return theirs
