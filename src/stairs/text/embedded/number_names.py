"""Number names in English and Chinese, made by rule: any number of sentence pairs to translate, each with one right answer.

105 is "one hundred five" and 一百零五. In Chinese, 2 is always 二 and a leading 一十 is 十; zeros inside a number are read once, as 零, and those at
the end of a group of four are not read: 203000 is 二十万三千, 200003 is 二十万零三.
"""

import random

from stairs.errors import BadInput, preview
from stairs.text.examples import TranslationPair

MAX_ENGLISH_WORDS = 10  # of a name in the training set: numbers of eight digits, and larger round ones
MAX_DRAWN = 10**12 - 1
SET_SIZES = {"numbers": 20_000, "numbers-test": 1_000, "longer-numbers": 1_000}
NAME_LIMIT = 10**16  # 亿亿 is hardly ever used
ENGLISH_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
ENGLISH_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ENGLISH_THOUSANDS = ("", " thousand", " million", " billion", " trillion", " quadrillion")
CHINESE_DIGITS = "零一二三四五六七八九"
PLACE_NAMES = ("千", "百", "十", "")


def english_name(number: int) -> str:
    """21000105 -> 'twenty-one million one hundred five'."""
    check_number(number)
    if number == 0:
        return ENGLISH_SMALL[0]
    words = []
    for position in reversed(range(len(ENGLISH_THOUSANDS))):
        group = number // 1000**position % 1000
        if group:
            words.append(english_below_thousand(group) + ENGLISH_THOUSANDS[position])
    return " ".join(words)


def english_below_thousand(number: int) -> str:
    hundreds, rest = divmod(number, 100)
    words = [f"{ENGLISH_SMALL[hundreds]} hundred"] if hundreds else []
    if rest >= 20:
        words.append(ENGLISH_TENS[rest // 10] + (f"-{ENGLISH_SMALL[rest % 10]}" if rest % 10 else ""))
    elif rest:
        words.append(ENGLISH_SMALL[rest])
    return " ".join(words)


def chinese_name(number: int) -> str:
    """21000105 -> '二千一百万零一百零五'."""
    check_number(number)
    if number == 0:
        return CHINESE_DIGITS[0]
    name = ""
    gap = False  # a group of four zeros was skipped
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
    for digit, place_name in zip(f"{number:04d}", PLACE_NAMES, strict=True):
        if digit == "0":
            gap = bool(name)
        else:
            name += ("零" if gap else "") + CHINESE_DIGITS[int(digit)] + place_name
            gap = False
    return name


def number_pairs(name: str) -> list[TranslationPair]:
    """A set by name: `numbers` to train on, `numbers-test` with others of the same lengths, `longer-numbers`, each longer than all of those."""
    size = SET_SIZES[name]
    if name == "longer-numbers":
        return [example for example in number_names(5 * size, 1, 0, MAX_DRAWN) if not is_short(example)][:size]
    train = list(filter(is_short, number_names(3 * SET_SIZES["numbers"], 0, 0, MAX_DRAWN)))[: SET_SIZES["numbers"]]
    if name == "numbers":
        return train
    known = {example.where for example in train}
    return [example for example in number_names(9 * size, 1, 0, MAX_DRAWN) if is_short(example) and example.where not in known][:size]


def is_short(example: TranslationPair) -> bool:
    return english_word_count(example) <= MAX_ENGLISH_WORDS


def english_word_count(example: TranslationPair) -> int:
    return len(example.source.split())


def number_names(count: int, seed: int = 0, lowest: int = 0, highest: int = 10**12) -> list[TranslationPair]:
    """`count` different numbers from lowest to highest, short and long ones equally often, English to Chinese; the seed alone decides which."""
    check_number(lowest)
    check_number(highest)
    if not 0 <= count <= highest - lowest + 1:
        raise BadInput(f"there are no {count} different numbers from {lowest} to {highest}; give a smaller count or a wider range")
    numbers = draw_numbers(count, random.Random(f"number names {seed}"), lowest, highest)
    return [TranslationPair(english_name(number), chinese_name(number), f"number {number}") for number in numbers]


def draw_numbers(count: int, source: random.Random, lowest: int, highest: int) -> list[int]:
    if count * 4 > highest - lowest:
        return source.sample(range(lowest, highest + 1), count)
    numbers: dict[int, None] = {}
    min_length, max_length = len(str(lowest)), len(str(highest))
    tries = 0
    while len(numbers) < count:
        length = source.randint(min_length, max_length)
        number = source.randrange(10 ** (length - 1) if length > 1 else 0, 10**length)
        if source.random() < 0.3:  # round numbers and inner zeros are rare among random numbers and common in texts
            high = source.randint(0, length - 1)
            low = source.randint(0, high)
            number = number - number % 10**high + number % 10**low
        tries += 1
        if tries > 20 * count:
            number = source.randint(lowest, highest)  # no short numbers are left, or the range is narrow
        if lowest <= number <= highest:
            numbers[number] = None
    return list(numbers)


def check_number(number: int) -> None:
    if not isinstance(number, int) or not 0 <= number < NAME_LIMIT:
        raise BadInput(f"no name for {preview(number)}; give a whole number from 0 to {NAME_LIMIT - 1}")
