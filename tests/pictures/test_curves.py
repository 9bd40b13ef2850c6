from stairs.pictures.curves import curves
from stairs.pictures.image_files import render


def test_a_line_for_each_step_and_a_rule_for_each_level():
    points = [{"series": "gpt", "minutes": m, "value": 3 / (1 + m)} for m in range(4)] + [{"series": "nnlm", "minutes": 1, "value": 2.0}]
    chart = curves(points, [{"series": "5-gram", "value": 1.9}])
    said = chart.to_dict()
    rules, lines = said["layer"]
    assert lines["data"]["values"] == points and rules["data"]["values"] == [{"series": "5-gram", "value": 1.9}]
    svg = render(chart, ".svg").decode()
    assert svg.index(">5-gram<") < svg.index(">gpt<") < svg.index(">nnlm<")
