"""Paragraphs of docstrings: joined where they were wrapped, untouched where they are code."""

from inspect import cleandoc

from hypothesis import given, settings
from hypothesis import strategies as st

from stairs.text.embedded.reflow import leading_prose, paragraphs

NUMPY = cleandoc("""
    Return the mean of
    the elements.

    A second paragraph.

    Parameters
    ----------
    axis : int, optional
        Axis along which the
        means are taken.

    Examples
    --------
    >>> mean([1,
    ...       2])
    1.5
""")
GOOGLE = cleandoc("""
    mean(input, dim) -> Tensor

    Returns the mean.
    Args:
        input (Tensor): the input
            tensor
        dim (int): the dimension

    Example::

        >>> mean(x)
        mean = 3

    After it.
""")


def test_wrapped_lines_are_joined_and_sections_kept_apart():
    assert [(one.text.strip(), one.kind) for one in paragraphs(NUMPY)] == [
        ("Return the mean of the elements.", "prose"),
        ("A second paragraph.", "prose"),
        ("Parameters", "heading"),
        ("axis : int, optional", "prose"),
        ("Axis along which the means are taken.", "prose"),
        ("Examples", "heading"),
        (">>> mean([1,", "code"),
        ("...       2])", "code"),
        ("1.5", "code"),
    ]


def test_items_keep_their_hanging_lines_and_literal_blocks_end():
    texts = [one.text.strip() for one in paragraphs(GOOGLE)]
    assert "input (Tensor): the input tensor" in texts and "dim (int): the dimension" in texts
    assert [one.kind for one in paragraphs(GOOGLE)][-3:] == ["code", "code", "prose"]
    assert texts[-1] == "After it."


def test_description_stops_at_the_first_section_and_leaves_out_the_signature():
    assert leading_prose(paragraphs(NUMPY)) == "Return the mean of the elements. A second paragraph."
    assert leading_prose(paragraphs(GOOGLE)) == "Returns the mean."


@settings(derandomize=True, max_examples=200)
@given(st.lists(st.text("ab >.:*-|\n0)", max_size=30), max_size=8).map("\n".join))
def test_no_letter_is_lost(text):
    def letters(text):
        return [sign for sign in text if sign in "ab0"]

    found = paragraphs(text)
    assert letters("".join(one.text for one in found)) == letters(text)
    assert not any("\n" in one.text or not one.text.strip() for one in found)
