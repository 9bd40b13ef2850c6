"""Greedy generation beside `transformers`, on the same weights: tokens/s, ratio, and whether the text is the same.

python benchmarks/gpt_generate.py [--batches 1 8] [--tokens 48] [--threads 1] [--repeats 5]
"""

import argparse
import copy

import torch

from gpt_peer import gpt2
from side_by_side import PRECISIONS, conditions, in_turn
from stairs.models.gpt import GPT
from stairs.models.settings import GPTConfig
from stairs.tasks.parts.decoding import fast_argmax

PROMPT = 16


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--tokens", type=int, default=48)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = GPT(GPTConfig(vocab_size=50257, width=384, heads=6, layers=6)).eval()
    random = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, 0.0, 0.05, generator=random)  # large enough that the text is not one word repeated
    peers = {"transformers fp32": gpt2(model)}
    if "bf16" in PRECISIONS:
        peers["transformers bf16"] = copy.deepcopy(gpt2(model)).bfloat16()
    ours = {"ours, readable": model} | {f"ours {precision}": model.for_inference(precision) for precision in PRECISIONS}
    for rows in options.batches:
        prompt = torch.randint(5, model.config.vocab_size, (rows, PROMPT), generator=random)
        outputs: dict[str, torch.Tensor] = {}

        def theirs_job(name, peer, prompt=prompt, outputs=outputs):
            outputs[name] = peer.generate(prompt, max_new_tokens=options.tokens, do_sample=False, pad_token_id=0, eos_token_id=None)[:, PROMPT:]

        def our_job(name, model, prompt=prompt, outputs=outputs):
            outputs[name] = greedy(model, prompt, options.tokens)

        jobs = {name: lambda name=name, peer=peer: theirs_job(name, peer) for name, peer in peers.items()}
        jobs |= {name: lambda name=name, ours=model: our_job(name, ours) for name, model in ours.items()}
        in_turn(jobs, 1)  # warm-up: packs the weights
        taken = in_turn(jobs, options.repeats)
        print(f"\nGPT 6 x 384, vocabulary 50257, batch {rows}, {options.tokens} tokens after {PROMPT}, {options.threads} threads; {conditions()}")
        base = taken["transformers fp32"]
        for name, seconds in taken.items():
            same = float((outputs[name] == outputs["transformers fp32"]).float().mean())
            print(
                f"  {name:20} {rows * options.tokens / seconds['wall']:7.1f} tokens/s   {base['wall'] / seconds['wall']:5.2f}x wall"
                f"   {base['cpu'] / seconds['cpu']:5.2f}x CPU   {100 * same:5.1f} % of the tokens those of transformers fp32"
            )


def greedy(model: GPT, prompt: torch.Tensor, tokens: int) -> torch.Tensor:
    logits, state = model.prefill(prompt)
    outputs = [fast_argmax(logits)]
    while len(outputs) < tokens:
        logits, state = model.decode_step(outputs[-1], state)
        outputs.append(fast_argmax(logits))
    return torch.stack(outputs, 1)


if __name__ == "__main__":
    main()
