"""A Transformer is a Marian, or a Pegasus where its norms stand first: the same weights in `transformers` give the same logits and translations."""

import pytest
import torch

from stairs.errors import Unsupported
from stairs.formats.huggingface import round_trip, transformers_folder
from stairs.models.settings import TransformerConfig
from stairs.models.transformer import Transformer
from stairs.tasks.parts.translation_pairs import TranslationRows
from stairs.tasks.translate import Translate
from stairs.text.examples import TranslationPair
from stairs.text.tokenizers.tokenizer import Tokenizer, TokenizerSpec

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.reference
SENTENCES = ["a dog runs after the red ball", "the ball", "two men and a dog wait", "red"]


@pytest.fixture(params=[False, True], ids=["marian", "pegasus"])
def task(request):
    tokenizer = Tokenizer.train(TokenizerSpec("byte-bpe", vocab_size=300), lambda: [SENTENCES])
    config = TransformerConfig(vocab_size=tokenizer.vocab_size, context=48, width=32, heads=4, layers=2, norm_first=request.param)
    model = Transformer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)) * 0.1)
    return Translate(model, tokenizer)


@pytest.fixture
def theirs(task, tmp_path):
    (tmp_path / "marian").mkdir()
    transformers_folder.write(task, tmp_path / "marian")
    assert round_trip.compare_folder(task, tmp_path / "marian", "huggingface")["difference"] < 1e-5
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "marian").eval()
    assert type(model).__name__ == ("PegasusForConditionalGeneration" if task.model.config.norm_first else "MarianMTModel")
    return model, tmp_path / "marian"


def test_logits_are_equal(task, theirs):
    batch = TranslationRows([TranslationPair(a, b) for a, b in zip(SENTENCES, SENTENCES[::-1], strict=True)], task.tokenizer, 48).batch(range(4))
    read = batch.ids.clone()
    read[:, 0] = theirs[0].config.decoder_start_token_id
    with torch.no_grad():
        output = theirs[0](input_ids=batch.source.ids, attention_mask=batch.source.real.long(), decoder_input_ids=read).logits
        ours = task.model.predict(batch)
    never = task.tokenizer.suppressed_ids
    sayable = [number for number in range(ours.shape[-1]) if number not in never]
    assert (ours - output[..., : ours.shape[-1]])[batch.real][:, sayable].abs().max() < 1e-4
    assert output[..., never].max() < -1e3


@pytest.mark.parametrize("beams", [1, 4])
def test_translations_are_equal(task, theirs, beams):
    model, folder = theirs
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    given = tokenizer(SENTENCES, return_tensors="pt", padding=True)
    output = model.generate(**given, num_beams=beams, max_length=31)
    result = task.search(task.encode_texts(SENTENCES), beams, task.model)
    for row, one in zip(output.tolist(), result, strict=True):
        words = row[1:]
        words = words[: words.index(task.tokenizer.end)] if task.tokenizer.end in words else words
        assert one.hypotheses[0].ids[:30] == words[:30]


def test_the_folder_comes_back_and_only_the_papers_form_has_a_place(task, theirs):
    again = transformers_folder.read(theirs[1])
    assert isinstance(again, Translate) and again.translate_texts(SENTENCES) == task.translate_texts(SENTENCES)
    path = theirs[1] / "config.json"
    path.write_text(path.read_text().replace('"relu"', '"swish"'))
    with pytest.raises(Unsupported, match="activation_function is 'swish'"):
        transformers_folder.read(theirs[1])
