"""Vectors of a run through the methods of sentence-transformers and LangChain."""

import asyncio

import numpy as np
import pytest
import torch

import stairs
from stairs.embeddings import Embeddings
from stairs.errors import BadInput, Unsupported
from tests.support.small_world import SENTENCES

TEXTS = SENTENCES[:40]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    (folder / "corpus.txt").write_text("\n".join(SENTENCES), "utf-8")
    stairs.train("bert", folder / "corpus.txt", size="nano", steps=20, out=folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def encoder(run):
    return stairs.Embeddings(run)


def test_several_texts_give_a_matrix_and_one_text_a_vector(encoder):
    width = encoder.get_sentence_embedding_dimension()
    assert encoder.get_embedding_dimension() == width == encoder.task.model.config.width
    assert encoder.encode(TEXTS).shape == (40, width) and encoder.encode(TEXTS).dtype == np.float32
    assert np.allclose(encoder.encode(TEXTS[0]), encoder.encode(TEXTS)[0], atol=1e-5)
    assert np.array_equal(encoder.encode(TEXTS), encoder.task.vectors(TEXTS))


def test_a_task_will_do_in_place_of_a_folder(run, encoder):
    assert np.array_equal(Embeddings(stairs.load(run)).encode(TEXTS), encoder.encode(TEXTS)) and "bert" in repr(encoder)


def test_vectors_come_as_array_tensor_or_list_of_tensors(encoder):
    as_array, as_tensor = encoder.encode(TEXTS), encoder.encode(TEXTS, convert_to_tensor=True)
    as_list = encoder.encode(TEXTS, convert_to_numpy=False)
    assert isinstance(as_tensor, torch.Tensor) and isinstance(as_list, list) and isinstance(as_list[0], torch.Tensor)
    assert np.array_equal(as_tensor.numpy(), as_array) and np.array_equal(torch.stack(as_list).numpy(), as_array)
    assert encoder.encode(TEXTS[0], convert_to_tensor=True).shape == as_array.shape[1:]


def test_neither_the_batch_size_nor_a_progress_bar_changes_the_vectors(encoder):
    assert np.allclose(encoder.encode(TEXTS, batch_size=7, show_progress_bar=True), encoder.encode(TEXTS), atol=1e-5)
    with pytest.raises(BadInput, match="batch_size"):
        encoder.encode(TEXTS, batch_size=-1)


def test_vectors_are_normalized_where_that_is_said(run, encoder):
    for vectors in (encoder.encode(TEXTS, normalize_embeddings=True), Embeddings(run, normalize_embeddings=True).encode(TEXTS)):
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    plain = Embeddings(run, normalize_embeddings=True).encode(TEXTS, normalize_embeddings=False)
    assert np.array_equal(plain, encoder.encode(TEXTS))


def test_similarity_is_the_cosine(encoder):
    vectors = encoder.encode(TEXTS)
    cosines = encoder.similarity(vectors[:3], vectors)
    assert cosines.shape == (3, 40) and torch.allclose(cosines.diagonal(), torch.ones(3))
    assert torch.allclose(encoder.similarity_pairwise(vectors[:3], vectors[3:6]), encoder.similarity(vectors[:3], vectors[3:6]).diagonal())
    assert encoder.similarity(vectors[0], vectors[1]).shape == (1, 1)
    assert torch.allclose(encoder.similarity(list(torch.from_numpy(vectors)), vectors), encoder.similarity(vectors, vectors))


def test_documents_and_queries_are_lists_of_numbers(encoder):
    documents, query = encoder.embed_documents(TEXTS[:2]), encoder.embed_query(TEXTS[0])
    assert isinstance(documents[0][0], float) and np.allclose(documents[0], query, atol=1e-5) and encoder.embed_documents([]) == []
    assert asyncio.run(encoder.aembed_query(TEXTS[0])) == query == encoder(TEXTS[0])
    assert asyncio.run(encoder.aembed_documents(TEXTS[:2])) == documents
    assert np.array_equal(encoder.encode_query(TEXTS[:2]), encoder.encode_document(TEXTS[:2]))


@pytest.mark.parametrize("bad", [[], ["a", None], [b"a"], b"a", None, [3]])
def test_what_is_no_text_is_refused(encoder, bad):
    with pytest.raises(BadInput):
        encoder.encode(bad)


def test_a_query_is_one_text(encoder):
    with pytest.raises(BadInput, match="embed_documents"):
        encoder.embed_query(["a", "b"])


def test_a_model_that_does_not_encode_says_so(tmp_path):
    (tmp_path / "corpus.txt").write_text("\n".join(SENTENCES), "utf-8")
    with pytest.raises(Unsupported, match="ngram"):
        Embeddings(stairs.train("ngram", tmp_path / "corpus.txt", out=tmp_path / "run")).encode(TEXTS)


@pytest.mark.reference
def test_the_vectors_go_into_the_functions_of_sentence_transformers(encoder):
    util = pytest.importorskip("sentence_transformers.util")
    vectors = encoder.encode(TEXTS, convert_to_tensor=True, normalize_embeddings=True)
    hits = util.semantic_search(encoder.encode(TEXTS[5], convert_to_tensor=True), vectors, top_k=3)
    assert hits[0][0]["corpus_id"] == 5 and hits[0][0]["score"] > 0.999
    assert torch.allclose(util.cos_sim(vectors, vectors), encoder.similarity(vectors, vectors), atol=1e-6)
    assert isinstance(util.community_detection(vectors, threshold=0.999, min_community_size=1), list)


@pytest.mark.reference
def test_it_says_the_same_as_a_sentence_transformer_of_the_same_weights(run, encoder, tmp_path, command):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    assert command("convert", run, "sentence-transformers", "--out", tmp_path / "folder").code == 0
    theirs = sentence_transformers.SentenceTransformer(str(tmp_path / "folder"))
    assert theirs.get_sentence_embedding_dimension() == encoder.get_sentence_embedding_dimension()
    for options in ({}, {"normalize_embeddings": True}, {"batch_size": 4}):
        assert np.allclose(theirs.encode(TEXTS, **options), encoder.encode(TEXTS, **options), atol=2e-4)
    assert np.allclose(theirs.encode(TEXTS[0]), encoder.encode(TEXTS[0]), atol=2e-4)
    vectors = encoder.encode(TEXTS)
    assert torch.allclose(theirs.similarity(vectors, vectors), encoder.similarity(vectors, vectors), atol=1e-5)
    assert torch.allclose(theirs.similarity_pairwise(vectors, vectors), encoder.similarity_pairwise(vectors, vectors), atol=1e-5)


@pytest.mark.reference
def test_it_stands_in_a_vector_store_of_langchain(run):
    vectorstores = pytest.importorskip("langchain_core.vectorstores")
    from langchain_core.embeddings import Embeddings as Theirs

    encoder = Embeddings(run)
    assert isinstance(encoder, Theirs)
    store = vectorstores.InMemoryVectorStore(encoder)
    store.add_texts(TEXTS)
    assert store.similarity_search(TEXTS[7], k=1)[0].page_content == TEXTS[7]
    document, score = asyncio.run(store.asimilarity_search_with_score(TEXTS[3], k=1))[0]
    assert document.page_content == TEXTS[3] and score > 0.999
    retriever = store.as_retriever(search_kwargs={"k": 2})
    assert len(retriever.invoke(TEXTS[0])) == 2
