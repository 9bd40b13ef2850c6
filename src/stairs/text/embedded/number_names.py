"""Number names in English and Chinese, made by rule: sentences to translate of which any count can be had, and each answer is certain.

105 is "one hundred five" and 一百零五. In Chinese, 2 is always 二 and a leading 一十 is 十; zeros inside a number are read once,
as 零, and those at the end of a group of four are not read: 203000 is 二十万三千, 200003 is 二十万零三.
"""

import random

from stairs.errors import BadInput, preview
from stairs.text.examples import Translation

SPOKEN = 10  # words of the longest English name to learn from: numbers of eight digits, and larger ones that are round
HIGHEST = 10**12 - 1
COUNTS = {"numbers": 20_000, "numbers-test": 1_000, "longer-numbers": 1_000}
LIMIT = 10**16  # 亿亿 is not a word that anybody reads with ease
SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
THOUSANDS = ("", " thousand", " million", " billion", " trillion", " quadrillion")
DIGITS = "零一二三四五六七八九"
PLACES = ("千", "百", "十", "")


def english(number: int) -> str:
    """21000105 -> 'twenty-one million one hundred five'."""
    checked(number)
    if number == 0:
        return SMALL[0]
    words = []
    for position in reversed(range(len(THOUSANDS))):
        group = number // 1000**position % 1000
        if group:
            words.append(english_below_thousand(group) + THOUSANDS[position])
    return " ".join(words)


def english_below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{SMALL[hundreds]} hundred"] if hundreds else []
    if rest >= 20:
        words.append(TENS[rest // 10] + (f"-{SMALL[rest % 10]}" if rest % 10 else ""))
    elif rest:
        words.append(SMALL[rest])
    return " ".join(words)


def chinese(number: int) -> str:
    """21000105 -> '二千一百万零一百零五'."""
    checked(number)
    if number == 0:
        return DIGITS[0]
    name = ""
    gap = False  # a whole group of zeros was passed
    for position in (3, 2, 1, 0):
        group = number // 10000**position % 10000
        if group:
            if name and (gap or group < 1000):
                name += "零"
            name += chinese_below_ten_thousand(group)
        gap = not group
        if position == 2 and name:
            name += "亿"  # also of the ten thousands above it: 一万零五亿
        elif position % 2 and group:
            name += "万"
    return name.removeprefix("一") if name.startswith("一十") else name


def chinese_below_ten_thousand(number: int) -> str:
    name = ""
    gap = False
    for digit, place in zip(f"{number:04d}", PLACES, strict=True):
        if digit == "0":
            gap = bool(name)
        else:
            name += ("零" if gap else "") + DIGITS[int(digit)] + place
            gap = False
    return name


def number_pairs(name: str) -> list[Translation]:
    """The sets by name: `numbers` to learn from, `numbers-test` with others of the same lengths, `longer-numbers`, each longer than all of those."""
    if name == "longer-numbers":
        return [example for example in number_names(5 * COUNTS[name], 1, 0, HIGHEST) if spoken(example) > SPOKEN][: COUNTS[name]]
    known = [example for example in number_names(3 * COUNTS["numbers"], 0, 0, HIGHEST) if spoken(example) <= SPOKEN][: COUNTS["numbers"]]
    if name == "numbers":
        return known
    learnt = {example.where for example in known}
    others = (example for example in number_names(9 * COUNTS[name], 1, 0, HIGHEST) if spoken(example) <= SPOKEN and example.where not in learnt)
    return list(others)[: COUNTS[name]]


def spoken(example: Translation) -> int:
    """Words of the English name."""
    return len(example.source.split())


def number_names(count: int, seed: int = 0, lowest: int = 0, highest: int = 10**12) -> list[Translation]:
    """`format_tokens` different numbers from lowest to highest, short and long alike, English to Chinese; the seed alone decides which."""
    checked(lowest)
    checked(highest)
    if not 0 <= count <= highest - lowest + 1:
        raise BadInput(f"{count} different numbers asked for between {lowest} and {highest}; ask for fewer or widen the range")
    chosen = choose(count, random.Random(f"number names {seed}"), lowest, highest)
    return [Translation(english(number), chinese(number), f"number {number}") for number in chosen]


def choose(count: int, source: random.Random, lowest: int, highest: int) -> list[int]:
    if count * 4 > highest - lowest:
        return source.sample(range(lowest, highest + 1), count)
    chosen: dict[int, None] = {}
    shortest, longest = len(str(lowest)), len(str(highest))
    tries = 0
    while len(chosen) < count:
        length = source.randint(shortest, longest)
        number = source.randrange(10 ** (length - 1) if length > 1 else 0, 10**length)
        if source.random() < 0.3:  # round numbers and inner zeros are rare by chance and common in life
            high = source.randint(0, length - 1)
            low = source.randint(0, high)
            number = number - number % 10**high + number % 10**low
        tries += 1
        if tries > 20 * count:
            number = source.randint(lowest, highest)  # the short lengths are used up, or the range is narrow
        if lowest <= number <= highest:
            chosen[number] = None
    return list(chosen)


def checked(number: int) -> None:
    if not isinstance(number, int) or not 0 <= number < LIMIT:
        raise BadInput(f"no name for {preview(number)}; give a whole number from 0 to {LIMIT - 1}")
