"""One word in two senses, layer by layer: cosines between its occurrences; the word is python in English and 苹果 in Chinese.

python benchmarks/two_senses.py RUN [RUN ...] [--chinese]
"""

import argparse

from side_by_side import conditions
from stairs.inspection.layers import sense_separation
from stairs.training.run import load

PYTHON = {
    "snake": [
        "The python coiled around the branch and waited for a bird to come near .",
        "A large python can swallow a small deer after it has crushed it .",
        "In the warm forest the python lays its eggs and guards them .",
        "The zoo has a green python that sheds its skin twice a year .",
        "Farmers found a python in the grass beside the river .",
        "The python is a snake without venom that lives in Africa and Asia .",
    ],
    "language": [
        "The program was written in python and runs on every computer .",
        "Students learn python because the code is short and easy to read .",
        "A new version of python was released with faster functions .",
        "The library has an interface for python and another one for Java .",
        "She wrote a small python script to read the data from the file .",
        "The software uses python as the language for its extensions .",
    ],
}
APPLE = {
    "水果": [
        "她 每天 早上 吃 一个 苹果 和 一片 面包 。",
        "果园 里 的 苹果 树 今年 结 了 很多 果实 。",
        "这种 苹果 又 红 又 甜 ， 可以 做成 果汁 。",
        "农民 把 苹果 装进 箱子 运到 市场 上 卖 。",
        "苹果 、 梨 和 葡萄 都 是 常见 的 水果 。",
        "树上 的 苹果 成熟 以后 会 落到 地上 。",
    ],
    "公司": [
        "苹果 公司 发布 了 新 的 手机 和 电脑 。",
        "他 在 苹果 公司 担任 软件 工程师 。",
        "苹果 的 股票 价格 在 发布会 以后 上涨 。",
        "微软 和 苹果 都 开发 操作系统 。",
        "苹果 推出 了 一款 新 的 平板 电脑 。",
        "这个 应用程序 可以 在 苹果 手机 上 使用 。",
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--chinese", action="store_true")
    options = parser.parse_args()
    word, senses = ("苹果", APPLE) if options.chinese else ("python", PYTHON)
    print(f"{'run':24}{'layer':>6}{'same sense':>12}{'different':>11}{'apart':>8}   {conditions()}")
    for run in options.runs:
        task = load(run)
        for row in sense_separation(task, word, senses):
            layer = "-" if row["layer"] is None else row["layer"]
            print(f"{run[-23:]:24}{layer:>6}{row['same']:12.3f}{row['different']:11.3f}{row['same'] - row['different']:8.3f}", flush=True)


if __name__ == "__main__":
    main()
