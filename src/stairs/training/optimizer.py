"""What turns gradients into changes of the weights: AdamW, or Muon for the matrices inside blocks and AdamW for the rest, as one optimizer.

A weight decays if it is a matrix and no embedding: rows of an embedding that no batch has shown stay as they are.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from stairs.training.muon import Muon, block_matrices
from stairs.training.options import TrainingOptions


class Optimizer:
    """All weights of a module that are trained, in groups of the same learning rate and weight decay."""

    def __init__(self, module: nn.Module, options: TrainingOptions, peak_lr: float, lr_scales: Mapping[str, float], weight_decay: float) -> None:
        self.module = module
        tables = {id(own.weight) for own in module.modules() if isinstance(own, nn.Embedding)}
        matrices = dict(block_matrices(module)) if options.optimizer == "muon" else {}
        groups: dict[tuple[float, float], list[Tensor]] = {}
        for name, weight in module.named_parameters():
            if weight.requires_grad and name not in matrices:
                decays = weight.ndim > 1 and id(weight) not in tables
                groups.setdefault((weight_decay if decays else 0.0, lr_scales.get(name, 1.0)), []).append(weight)
        parameters = [{"params": weights, "weight_decay": decay, "lr_scale": scale} for (decay, scale), weights in groups.items()]
        betas = (options.beta1, options.beta2)
        self.members: list[torch.optim.Optimizer] = [torch.optim.AdamW(parameters, lr=0.0, betas=betas, eps=options.adam_epsilon, fused=True)]
        if matrices:
            scale = options.muon_learning_rate / peak_lr
            self.members.append(Muon([{"params": list(matrices.values()), "weight_decay": weight_decay, "lr_scale": scale}]))

    def set_precision(self, precision: str) -> None:
        """Of what is computed beside the gradients: "fp32", or "bf16" where training is."""
        for member in self.members:
            if isinstance(member, Muon):
                member.dtype = torch.bfloat16 if precision == "bf16" else torch.float32

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [group for member in self.members for group in member.param_groups]

    @property
    def state(self) -> dict[Tensor, dict[str, Tensor]]:
        """Of every weight that has made a step."""
        return {weight: own for member in self.members for weight, own in member.state.items()}

    def zero_grad(self) -> None:
        for member in self.members:
            member.zero_grad()

    def step(self, learning_rate: float) -> None:
        """By the gradients; `learning_rate` is AdamW's."""
        for member in self.members:
            for group in member.param_groups:
                group["lr"] = learning_rate * group["lr_scale"]
            member.step()

    def state_tensors(self) -> dict[str, Tensor]:
        """The moments, by the names of the weights."""
        state = self.state
        return {f"{name}:{key}": value for name, weight in self.module.named_parameters() for key, value in state.get(weight, {}).items()}

    def new_states(self) -> Iterator[tuple[str, Tensor, dict[str, Tensor]]]:
        """The name of each weight, the weight, and moments of zero, to be filled with those of a checkpoint."""
        names = {id(weight): name for name, weight in self.module.named_parameters()}
        for member in self.members:
            for weight in (weight for group in member.param_groups for weight in group["params"]):
                zeros = torch.zeros_like(weight)
                is_muon = isinstance(member, Muon)
                state = {"momentum": zeros.float()} if is_muon else {"step": zeros.new_zeros(()), "exp_avg": zeros, "exp_avg_sq": zeros.clone()}
                yield names[id(weight)], weight, state

    def restore(self, weight: Tensor, state: dict[str, Tensor]) -> None:
        for member in self.members:
            if any(weight is own for group in member.param_groups for own in group["params"]):
                member.state[weight] = state
