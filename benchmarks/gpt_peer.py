"""GPT-2 of `transformers` with the weights of ours, so that both have the same work to do."""

import torch
from torch import nn

from stairs.models.gpt import GPT


def gpt2(ours: GPT, dropout: float = 0.0) -> nn.Module:
    """The peer, a weight-for-weight copy."""
    import transformers

    transformers.logging.set_verbosity_error()
    config = ours.config
    shape = {"n_positions": config.context, "n_embd": config.width, "n_layer": config.layers, "n_head": config.heads}
    drops = {"resid_pdrop": dropout, "embd_pdrop": dropout, "attn_pdrop": dropout}
    marks = {"bos_token_id": config.begin, "eos_token_id": config.end}
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=config.vocab_size, **shape, **drops, **marks)).eval()
    copy(ours, theirs)
    return theirs


@torch.no_grad()
def copy(ours: GPT, theirs: nn.Module) -> None:
    body = theirs.transformer
    body.wte.weight.copy_(ours.tokens.weight)
    body.wpe.weight.copy_(ours.positions.weight)
    norms = [(ours.norm, body.ln_f)]
    for block, layer in zip(ours.blocks, body.h, strict=True):
        attention, feed_forward = block.attention, block.feed_forward
        three = (attention.query, attention.key, attention.value)
        layer.attn.c_attn.weight.copy_(torch.cat([part.weight for part in three]).T)
        layer.attn.c_attn.bias.copy_(torch.cat([part.bias for part in three]))
        for linear, other in ((attention.output, layer.attn.c_proj), (feed_forward.inner, layer.mlp.c_fc), (feed_forward.outer, layer.mlp.c_proj)):
            other.weight.copy_(linear.weight.T)
            other.bias.copy_(linear.bias)
        norms += [(block.attention_norm, layer.ln_1), (block.feed_forward_norm, layer.ln_2)]
    for norm, other in norms:
        other.weight.copy_(norm.weight)
        other.bias.copy_(norm.bias)
