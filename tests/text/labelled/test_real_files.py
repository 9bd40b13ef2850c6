"""Real files of every task, counted. They are other people's data, in the folder that STAIRS_DATA names."""

from collections import Counter

import pytest

from stairs.text.labelled import guess_task, read_examples

COUNTS = {
    "classify": {
        "classify/sst2/train.tsv": 6920, "classify/sst2/dev.tsv": 872, "classify/sst2/test.tsv": 1821,
        "classify/chnsenticorp/train.tsv": 8913, "classify/chnsenticorp/dev.tsv": 1200, "classify/chnsenticorp/test.tsv": 1200,
        "classify/thucnews/train.tsv": 10_000, "classify/thucnews/test.tsv": 10_000,
    },
    "compare": {
        "pairs/mrpc/train.tsv": 4076, "pairs/mrpc/test.tsv": 1725,
        "pairs/stsb/train.tsv": 5749, "pairs/stsb/dev.tsv": 1500, "pairs/stsb/test.tsv": 1379,
    },
    "tag": {
        "tags/conll2003/train.bio.tsv": 14_041, "tags/conll2003/dev.bio.tsv": 3250, "tags/conll2003/test.bio.tsv": 3453,
        "tags/ud_ewt/train.conllu.xz": 12_544, "tags/ud_ewt/dev.conllu.xz": 2001, "tags/ud_ewt/test.conllu.xz": 2077,
        "tags/msra/train.tsv.xz": 51_917, "tags/msra/test.tsv": 3442,
    },
    "span": {
        "spans/xquad.en.json": 1190, "spans/xquad.zh.json": 1190, "spans/cmrc2018.train.json": 3219, "spans/cmrc2018.test.json": 1002,
    },
    "translate": {
        "translate/multi30k_en_fr/train.en": 29_000, "translate/multi30k_en_fr/val.en": 1014,
        "translate/multi30k_en_fr/test_2016_flickr.en": 1000, "translate/tatoeba_en_zh/all.tsv": 21_116,
    },
}  # fmt: skip


CASES = [(task, name, count) for task, files in COUNTS.items() for name, count in files.items()]


@pytest.mark.parametrize(("task", "name", "count"), CASES)
def test_every_file_is_read_whole_and_its_task_guessed(task, name, count, data):
    path = data / name
    labelled = read_examples(path, task)
    assert len(labelled.examples) == count
    assert guess_task(path) == task
    assert labelled.examples[0].where.startswith(str(path))


def test_labels_scores_and_quotes_are_what_the_files_say(data):
    topics = Counter(example.label for example in read_examples(data / "classify/thucnews/train.tsv", "classify").examples)
    assert len(topics) == 10 and "education" in topics
    pairs = read_examples(data / "pairs/mrpc/train.tsv", "compare").examples
    assert pairs[0].first == 'Amrozi accused his brother, whom he called "the witness", of deliberately distorting his evidence.'
    scores = [pair.score for pair in read_examples(data / "pairs/stsb/train.tsv", "compare").examples]
    assert min(scores) == 0 and max(scores) == 5
    targets = {pair.target for pair in read_examples(data / "translate/tatoeba_en_zh/all.tsv", "translate").examples}
    assert '"几点了?""10点半了。"' in targets


def test_tags_are_bio_and_answers_are_in_their_passages(data):
    labelled = read_examples(data / "tags/msra/train.tsv.xz", "tag")
    found = {tag for example in labelled.examples for tag in example.tags}
    assert found == {"O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"}
    assert "6 sentences begin inside an entity" in labelled.notes[0]
    for name, notes in (("cmrc2018.train", 2), ("cmrc2018.test", 2), ("xquad.zh", 0)):
        spans = read_examples(data / f"spans/{name}.json", "span")
        assert all(span.passage.startswith(text, start) for span in spans.examples for start, text in span.answers)
        assert all(span.answers for span in spans.examples) and len(spans.notes) == notes
