"""The page holds its data whole, and nothing on it comes from a network."""

import json
import re

from cornerturn.kernels.catalogue import find
from cornerturn.lab.report import contents, page


def embedded(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def test_the_page_holds_its_data_whole_and_asks_for_nothing():
    record = contents([find("naive"), find("view")], 64, 96)
    html = page(record)
    assert embedded(html) == json.loads(json.dumps(record))
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", html)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest", html)


def test_data_cannot_end_its_element():
    html = page({"text": "</script><script>alert(1)</script><!--"})
    assert embedded(html) == {"text": "</script><script>alert(1)</script><!--"}
    assert "alert(1)</script>" not in html
