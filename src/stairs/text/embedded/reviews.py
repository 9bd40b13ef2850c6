"""Reviews of hotels, restaurants and shops, made by rule: a spreadsheet to try things on, in English or Chinese.

    python -m stairs.text.embedded.reviews reviews.csv new.csv

writes 2,000 reviews with a rating, and 10,000 newer ones without. What a review says of each thing is good or bad, and the rating follows from the
balance; "not bad" and "I expected a good breakfast and got a cold one" make single words misleading, people who forgot to give a rating or gave the
wrong one make the file like others. The same seed gives the same reviews.
"""

import argparse
import csv
import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

COLUMNS = {"en": ("id", "date", "review", "rating"), "zh": ("编号", "日期", "评论", "评分")}
RATINGS = {"en": ("bad", "good"), "zh": ("差评", "好评")}
WRONG_SHARE, FORGOTTEN_SHARE = 0.04, 0.01  # of the ratings
MAX_REMARKS = 4
Words = tuple[str, ...]
THINGS: dict[str, dict[str, tuple[Words, Words]]] = {  # good and bad words for each
    "en": {
        "The room": (("spotless", "quiet", "spacious", "cosy"), ("dirty", "noisy", "cramped", "cold")),
        "The staff": (("friendly", "attentive", "helpful", "polite"), ("rude", "slow", "careless", "unfriendly")),
        "Breakfast": (("fresh", "generous", "delicious", "varied"), ("stale", "meagre", "tasteless", "overpriced")),
        "The soup": (("fragrant", "rich", "hot", "perfectly seasoned"), ("watery", "lukewarm", "far too salty", "bland")),
        "Delivery": (("fast", "reliable", "well packed", "a day early"), ("late", "chaotic", "badly packed", "two weeks late")),
        "The price": (("fair", "a bargain", "more than reasonable"), ("outrageous", "a rip-off", "far too high")),
        "The bed": (("soft", "comfortable", "wide"), ("lumpy", "broken", "narrow")),
        "The waiter": (("charming", "quick", "well informed"), ("grumpy", "absent-minded", "impatient")),
    },
    "zh": {
        "房间": (("很干净", "很安静", "宽敞明亮", "布置温馨"), ("很脏", "非常吵", "又小又暗", "冷得睡不着")),
        "服务员": (("态度亲切", "十分细心", "很有耐心", "很有礼貌"), ("爱理不理", "动作太慢", "态度恶劣", "粗心大意")),
        "早餐": (("新鲜可口", "品种丰富", "分量十足"), ("又冷又硬", "品种太少", "难以下咽")),
        "汤": (("香浓可口", "火候正好", "热气腾腾"), ("淡得像水", "咸得发苦", "已经凉了")),
        "快递": (("送得很快", "包装仔细", "提前一天到"), ("迟到两周", "包装破损", "送错地方")),
        "价格": (("公道", "很划算", "物超所值"), ("贵得离谱", "虚高", "一点也不值")),
        "床": (("软硬合适", "很舒服", "很宽"), ("塌了一半", "硬得像石头", "窄得翻不了身")),
        "老板": (("热情好客", "很会聊天", "有求必应"), ("脾气很大", "不讲道理", "只认钱")),
    },
}
REMARKS: dict[str, dict[bool, Words]] = {  # {good} is a good word, {bad} a bad one of the same thing; the key says which of them counts
    "en": {
        True: ("{thing} was {good}.", "{thing} was really {good}.", "{thing} was not {bad} at all.", "{thing}: {good}, as always.",
               "I was warned it would be {bad}, but {lower} was {good}.", "Nothing to complain about, {lower} was {good}."),
        False: ("{thing} was {bad}.", "{thing} was simply {bad}.", "{thing} was anything but {good}.", "{thing}: {bad}, again.",
                "I expected {lower} to be {good}, but it was {bad}.", "They call it {good}; to me {lower} was {bad}."),
    },
    "zh": {
        True: ("{thing}{good}。", "{thing}真的{good}！", "都说{thing}{bad}，其实{good}。", "{thing}一如既往，{good}。",
               "没什么可挑剔的，{thing}{good}。"),
        False: ("{thing}{bad}。", "{thing}实在{bad}！", "都说{thing}{good}，其实{bad}。", "{thing}还是老样子，{bad}。",
                "本以为{thing}{good}，结果{bad}。"),
    },
}  # fmt: skip
ENDINGS: dict[str, dict[bool, Words]] = {
    "en": {True: ("We will be back.", "Recommended!", "See you next year.", ""), False: ("Never again.", "Save your money.", "We left early.", "")},
    "zh": {True: ("下次还会来。", "推荐！", "明年再见。", ""), False: ("不会再来了。", "别花这个钱。", "我们提前走了。", "")},
}


def reviews(count: int, language: Literal["en", "zh"] = "en", seed: int = 0) -> Iterator[tuple[str, bool]]:
    """So many reviews, and whether each is good."""
    dice = random.Random(seed)
    for _ in range(count):
        things = dice.sample(list(THINGS[language]), dice.randint(1, MAX_REMARKS))
        is_good = dice.random() < 0.5
        minority = dice.randrange((len(things) + 1) // 2)  # remarks that say the opposite
        kinds = [is_good] * (len(things) - minority) + [not is_good] * minority
        dice.shuffle(kinds)
        remarks = [remark(thing, kind, language, dice) for thing, kind in zip(things, kinds, strict=True)]
        ending = dice.choice(ENDINGS[language][is_good])
        yield ("" if language == "zh" else " ").join(filter(None, (*remarks, ending))), is_good


def remark(thing: str, is_good: bool, language: str, dice: random.Random) -> str:
    good, bad = (dice.choice(words) for words in THINGS[language][thing])
    lower = thing[0].lower() + thing[1:]
    return dice.choice(REMARKS[language][is_good]).format(thing=thing, lower=lower, good=good, bad=bad)


def write_reviews(path: Path, count: int, language: Literal["en", "zh"], seed: int, *, with_ratings: bool = True) -> None:
    """As a spreadsheet saves them: with a byte order mark, and numbers that begin with zeros."""
    dice = random.Random(seed + 1)
    columns = COLUMNS[language] if with_ratings else COLUMNS[language][:-1]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for number, (text, is_good) in enumerate(reviews(count, language, seed), 1):
            day = date(2026, 1, 1) + timedelta(days=number * 300 // count)
            rating = "" if dice.random() < FORGOTTEN_SHARE else RATINGS[language][is_good ^ (dice.random() < WRONG_SHARE)]
            writer.writerow((f"{number:06}", day.isoformat(), text, rating)[: len(columns)])


def main() -> None:
    parser = argparse.ArgumentParser(description="Reviews made by rule, to try things on.")
    parser.add_argument("reviews", type=Path, help="the file of reviews with ratings")
    parser.add_argument("new", type=Path, help="the file of newer reviews without ratings")
    parser.add_argument("--language", choices=("en", "zh"), default="en")
    parser.add_argument("--rows", type=int, default=2_000, help="reviews with ratings")
    parser.add_argument("--new-rows", type=int, default=10_000, help="newer reviews")
    options = parser.parse_args()
    write_reviews(options.reviews, options.rows, options.language, 0)
    write_reviews(options.new, options.new_rows, options.language, 7, with_ratings=False)


if __name__ == "__main__":
    main()
