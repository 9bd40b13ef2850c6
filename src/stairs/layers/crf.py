"""A linear-chain conditional random field on top of scores: the labels of a row are learnt and found together.

Lafferty, McCallum & Pereira 2001; on the outputs of a network, Collobert et al. 2011, "Natural Language Processing (Almost) from Scratch", section
3.3.2, and Lample et al. 2016:

    P(y | x) = exp(sum over t of  A[y_t-1, y_t] + scores[t, y_t]) / Z(x)          y_0 the beginning
    log Z    = logsumexp over y_T of forward_T,   forward_t[y] = scores[t, y] + logsumexp over y' of (forward_t-1[y'] + A[y', y])

The loss is -log P(y | x). Transitions that cannot occur are excluded from Z. A starts at 0: the field then is a softmax at each position.

Departures: none for the end of a row; a row that begins with a label that nothing may begin with continues another row, and has no beginning.
"""

import torch
from torch import Tensor, nn


class LinearChainCRF(nn.Module):
    """`costs` (L + 1, L) is 0 where the column may follow the row and very negative where not; its last row is the beginning."""

    costs: Tensor

    def __init__(self, costs: Tensor) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.zeros_like(costs))
        self.register_buffer("costs", costs, persistent=False)

    def allowed_transitions(self) -> Tensor:
        """(L + 1, L), with the costs of those that cannot occur."""
        return torch.where(self.costs == 0, self.transitions, self.costs)

    def nll(self, scores: Tensor, labels: Tensor, real: Tensor) -> Tensor:
        """-log P(labels | scores), summed over rows; `scores` (B, T, L), `labels` and `real` (B, T), with the real positions of a row first."""
        transitions = self.allowed_transitions()
        starts = transitions[-1].expand(len(scores), -1)
        continues = self.costs[-1][labels[:, 0]] != 0
        starts = starts.masked_fill(continues[:, None], 0.0)
        return (self.log_partition(scores, real, starts) - self.sequence_score(scores, labels, real, starts)).sum()

    def log_partition(self, scores: Tensor, real: Tensor, starts: Tensor) -> Tensor:
        """log Z of each row, (B,); `starts` (B, L) are the transitions from the beginning."""
        transitions = self.allowed_transitions()[:-1]
        forward = starts + scores[:, 0]
        for t in range(1, scores.shape[1]):
            following = (forward[:, :, None] + transitions).logsumexp(1) + scores[:, t]
            forward = torch.where(real[:, t, None], following, forward)
        return forward.logsumexp(1)

    def sequence_score(self, scores: Tensor, labels: Tensor, real: Tensor, starts: Tensor) -> Tensor:
        """The exponent of P(labels | scores) of each row, (B,)."""
        own = scores.gather(2, labels[..., None])[..., 0]
        steps = self.allowed_transitions()[labels[:, :-1], labels[:, 1:]]
        return starts.gather(1, labels[:, :1])[:, 0] + (own * real).sum(1) + (steps * real[:, 1:]).sum(1)


def gather_rows(values: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The chosen positions of each row moved to its beginning: (B, T, ...) to (B, most chosen, ...), and which positions of the result are real."""
    counts = chosen.sum(1)
    order = (~chosen).to(torch.uint8).argsort(dim=1, stable=True)[:, : int(counts.max())]
    index = order.reshape(*order.shape, *[1] * (values.dim() - 2)).expand(-1, -1, *values.shape[2:])
    return values.gather(1, index), torch.arange(order.shape[1], device=values.device) < counts[:, None]
