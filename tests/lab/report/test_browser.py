"""The page in a real browser: it opens from a file, asks for nothing, and does what it offers."""

import json
import shutil

import pytest
from click.testing import CliRunner

from cornerturn.cli import main

selenium = pytest.importorskip("selenium", reason="selenium is not installed: the report's page is not opened")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="Chromium or chromedriver is not installed: the report's page is not opened"
)

FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,900"
)
NAMES = ["naive", "tiled_32", "shared_no_padding", "shared_padding", "f32_diagonal2d", "copy", "view"]
SIZE = "64x96"
TIMES = {"naive": 17e-6, "tiled_32": 3.5e-6, "shared_no_padding": 6e-6, "shared_padding": 2.4e-6, "copy": 2.1e-6}


def cornerturn(*arguments):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.stderr


def times_file(path):
    timed = {"rows": 1024, "cols": 1024, "valid": True, "gbps": 1.0}
    results = [
        timed | {"kernel": name, "seconds": time, "roof_share": TIMES["copy"] / time} for name, time in TIMES.items()
    ]
    path.write_text(json.dumps({"device": {"name": "NVIDIA H200"}, "results": results}))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The report and what ``bench`` says of the same kernels."""
    folder = tmp_path_factory.mktemp("report")
    chosen = [part for name in NAMES for part in ("--kernel", name)]
    times = times_file(folder / "h200.json")
    cornerturn("report", "-o", folder / "report.html", "--size", SIZE, "--results", times, *chosen)
    cornerturn("bench", *NAMES, "--size", SIZE, "--device", "emulator", "--json", folder / "bench.json")
    return folder


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser, folder):
    """Opens a part of the page afresh; afterwards the console must be empty and nothing been asked of a network."""
    browser.get_log("browser"), browser.get_log("performance")

    def opened(part=""):
        browser.get("about:blank")
        browser.get(f"{(folder / 'report.html').as_uri()}#/{part}")
        settle(browser)
        return browser

    yield opened
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []


def settle(browser):
    """Wait until the page is laid out: three frames."""
    frame = "requestAnimationFrame"
    browser.execute_async_script(f"{frame}(() => {frame}(() => {frame}(arguments[0])))")


def one(node, selector):
    return node.find_element(By.CSS_SELECTOR, selector)


def every(node, selector):
    return node.find_elements(By.CSS_SELECTOR, selector)


def texts(node, selector):
    return [found.text for found in every(node, selector)]


def shown(browser):
    return [row.get_attribute("data-kernel") for row in every(browser, "table.overview tbody tr")]


def keys(browser, *pressed):
    for key in pressed:
        ActionChains(browser).send_keys(key).perform()


def test_counts_are_those_of_bench_json(opened, folder):
    browser = opened()
    results = {result["kernel"]: result for result in json.loads((folder / "bench.json").read_text())["results"]}
    assert sorted(shown(browser)) == sorted(results)
    for row in every(browser, "table.overview tbody tr"):
        counters = results[row.get_attribute("data-kernel")]["counters"] or {}
        for cell in every(row, "td[data-place]"):
            place = cell.get_attribute("data-place").replace(" ", "_")
            unit = "sectors" if place.startswith("global") else "wavefronts"
            numbers = [int(cell.get_attribute(f"data-{name}")) for name in ("requests", "found", "ideal")]
            names = (f"{place}_requests", f"{place}_{unit}", f"{place}_{unit}_ideal")
            assert numbers == [counters[name] for name in names]
    naive = one(browser, "tr[data-kernel=naive] td[data-place='global store']")
    assert naive.text == "32/4"


def test_a_kernels_own_counts_are_those_of_bench_json(opened, folder):
    browser = opened("kernel/shared_no_padding")
    results = {result["kernel"]: result for result in json.loads((folder / "bench.json").read_text())["results"]}
    counters = results["shared_no_padding"]["counters"]
    cells = texts(browser, "table.counts tr[data-place='shared load'] td")
    expected = [counters[f"shared_load_{name}"] for name in ("requests", "wavefronts", "wavefronts_ideal")]
    assert cells == [*(f"{number:,}" for number in expected), "32/1"]


def test_the_table_sorts_both_ways_and_back(opened):
    browser = opened()
    catalogue = shown(browser)
    press = lambda column: one(browser, f"button[data-sort='{column}']").click()  # noqa: E731
    press("bytes moved per byte used")
    assert shown(browser)[0] == "naive"
    assert one(browser, "th[aria-sort]").get_attribute("aria-sort") == "descending"
    press("bytes moved per byte used")
    assert shown(browser)[-3] == "naive"  # what did not run stays last
    press("bytes moved per byte used")
    assert shown(browser) == catalogue
    press("kernel")
    assert shown(browser) == sorted(NAMES)
    press("time")
    assert shown(browser)[:3] == ["naive", "shared_no_padding", "tiled_32"]


def test_the_table_filters(opened):
    browser = opened()
    one(browser, "#filter").send_keys("PADDING")
    assert shown(browser)[-2:] == ["shared_no_padding", "shared_padding"]
    assert one(browser, "[role=status]").text == f"{len(shown(browser))} of 7 kernels"
    one(browser, "#filter").send_keys(Keys.CONTROL, "a", Keys.DELETE)
    Select(every(browser, "main .choice select")[0]).select_by_visible_text("controls")
    assert shown(browser) == ["copy", "view"]


def test_measured_times_stand_beside_the_counts(opened):
    browser = opened()
    row = one(browser, "tr[data-kernel=naive]")
    assert "17 µs" in row.text and "12% of the copy roof" in row.text
    assert "not measured" in one(browser, "tr[data-kernel=view]").text
    assert "NVIDIA H200, 1024 x 1024 (h200)" in one(browser, "main").text


def test_the_arrow_keys_step_through_the_warp(opened):
    browser = opened("kernel/tiled_32")
    assert texts(browser, ".timeline button") == ["read", "stage", "barrier", "take", "write"]
    assert one(browser, ".formula").text == "x[32*by + ty, 32*bx + tx]"
    keys(browser, Keys.ARROW_RIGHT)
    assert one(browser, ".where").text.startswith("Step 2 of 5")
    assert one(browser, ".formula").text == "byte 132*ty + 4*tx"
    assert len(every(browser, ".words .lane")) == 32
    keys(browser, Keys.ARROW_RIGHT)
    assert "barrier" in one(browser, ".now .title").text
    assert "__syncthreads" in one(browser, ".line.here").text
    keys(browser, Keys.END, Keys.ARROW_RIGHT)
    assert one(browser, ".where").text.startswith("Step 5 of 5")
    keys(browser, Keys.ARROW_LEFT)
    assert one(browser, ".timeline [aria-current]").text == "take"
    keys(browser, Keys.HOME)
    assert one(browser, ".where").text.startswith("Step 1 of 5")


def test_play_runs_and_pauses(opened):
    browser = opened("kernel/naive")
    keys(browser, " ")
    assert one(browser, "[aria-label=Pause]").is_displayed()
    WebDriverWait(browser, 10).until(lambda page: one(page, ".where").text.startswith("Step 2 of 2"))
    WebDriverWait(browser, 10).until(lambda page: every(page, "[aria-label=Play]"))


def test_what_the_hardware_makes_of_a_request_is_drawn(opened):
    browser = opened("kernel/naive")
    keys(browser, Keys.ARROW_RIGHT)
    assert one(browser, ".cost strong").text == "32 sectors"
    assert len(every(browser, ".request .words")) == 32
    assert len(every(browser, ".request .lane")) == 32
    assert len(every(browser, ".request .unused")) == 32 * 7


def test_block_and_warp_are_chosen(opened):
    browser = opened("kernel/shared_no_padding")
    block, warp, _ = map(Select, every(browser, ".explorer .choice select"))
    assert [option.text for option in block.options] == ["0,0", "1,0", "0,1", "2,1"]
    warp.select_by_visible_text("5")
    block.select_by_visible_text("2,1")
    one(browser, ".lanes summary").click()
    WebDriverWait(browser, 10).until(lambda page: every(page, ".lanes tbody"))
    rows = [row.text.split() for row in every(browser, ".lanes tbody tr")]
    assert rows[0] == ["0", "0,5", "x[37,", "64]", "+14,464", "x[37,", "64]"]
    assert len(rows) == 32


def test_pointing_at_a_lane_follows_its_thread(opened):
    browser = opened("kernel/tiled_32")
    keys(browser, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    lane = one(browser, ".registers [data-lane='7']")
    ActionChains(browser).move_to_element(lane).perform()
    assert one(browser, ".way h3").text.startswith("The way of thread 7,0")
    assert texts(browser, ".way li .code") == [
        "x[0, 7]",
        "x[0, 7] to shared +28, bank 7",
        "x[7, 0] from shared +924, bank 7",
        "x[7, 0] to y[0, 7]",
    ]
    assert "stored there by thread 0,7" in one(browser, ".way .here").text
    assert {mark.get_attribute("data-lane") for mark in every(browser, ".followed")} == {"7"}
    ActionChains(browser).move_to_element(one(browser, "h1")).perform()
    assert every(browser, ".followed") == []


def test_an_element_on_a_matrix_is_followed_and_kept(opened):
    browser = opened("kernel/naive")
    canvas = every(browser, ".grid canvas")[0]
    cell = canvas.size["width"] / 32
    to_lane_20 = (round(20.5 * cell - canvas.size["width"] / 2), round(0.5 * cell - canvas.size["height"] / 2))
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    ActionChains(browser).move_to_element_with_offset(canvas, *to_lane_20).click().perform()
    ActionChains(browser).move_to_element(one(browser, "h1")).perform()
    assert one(browser, ".way h3").text.startswith("The way of thread 20,0")
    assert Select(every(browser, ".explorer .choice select")[2]).first_selected_option.text == "20"


def test_the_tile_stands_plain_padded_and_swizzled(opened):
    pytest.importorskip("tensor_layouts", reason="tensor-layouts is not installed: there is no tile to show")
    browser = opened("kernel/shared_no_padding")
    assert texts(browser, ".tiles figcaption strong") == [
        "plain, as in this kernel",
        "padded instead",
        "swizzled instead",
    ]
    assert texts(browser, ".tiles .costs li.wasted") == ["load: 32 requests of 4 bytes, 1,024 wavefronts, ideal 32"]


def test_two_kernels_step_in_lockstep(opened):
    browser = opened("compare/shared_no_padding/shared_padding")
    keys(browser, *[Keys.ARROW_RIGHT] * 9)
    assert [text.split(",")[0] for text in texts(browser, ".where")] == ["Step 10 of 17"] * 2
    assert texts(browser, ".cost strong") == ["32 wavefronts", "1 wavefront"]
    ActionChains(browser).move_to_element(every(browser, ".registers [data-lane='3']")[0]).perform()
    assert [text.split("lane")[0].strip() for text in texts(browser, ".way h3")] == ["The way of thread 3,0"] * 2
    Select(one(browser, ".explorer .choice:nth-child(2) select")).select_by_visible_text("2")
    assert [
        Select(each).first_selected_option.text for each in every(browser, ".explorer .choice:nth-child(2) select")
    ] == [
        "2",
        "2",
    ]
    Select(every(browser, "main > .controls select")[1]).select_by_visible_text("naive")
    assert texts(browser, ".pair h2") == ["shared_no_padding", "naive"]
    keys(browser, Keys.END)
    assert texts(browser, ".where") == ["Step 17 of 17, line 54", "Step 2 of 2, line 15"]


def test_lessons_have_claim_picture_evidence_and_verdict(opened):
    browser = opened("lessons")
    card = one(browser, "#lesson-padding")
    assert "holds" in one(card, ".badge").text
    assert len(every(card, ".thumb")) == 2
    assert len(every(card, ".thumb:first-child .words")) == 33  # the banks' numbers, then 32 wavefronts
    assert "shared_no_padding: 32 wavefronts per shared load request" in one(card, ".evidence").text


def test_a_lesson_shows_the_dearest_request_of_each_kernel(tmp_path, opened):
    names = ["f32_col2row", "f32_row2col", "f32_col2row2d", "f32_row2col2d"]
    page = tmp_path / "lessons.html"
    cornerturn("report", "-o", page, "--size", "64x64", *[part for name in names for part in ("--kernel", name)])
    browser = opened()
    browser.get(f"{page.as_uri()}#/lessons")
    settle(browser)
    assert texts(browser, "#lesson-contiguous-write .thumb figcaption") == [
        "f32_col2row\nwrite y: 32 sectors, ideal 4",
        "f32_row2col\nread x: 32 sectors, ideal 4",
    ]
    assert "moved, and not used" in one(browser, "#lesson-contiguous-write .legend").text
    hatched = "return getComputedStyle(arguments[0]).backgroundImage"
    unused = one(browser, "#lesson-contiguous-write .thumb .unused")
    assert "repeating-linear-gradient" in browser.execute_script(hatched, unused)
    assert every(browser, "#lesson-divisions .thumb") == []


def test_the_intro_says_who_turns_and_who_does_not(opened):
    text = one(opened(), ".intro").text
    assert (
        "4 kernels turn the same 64 x 96 matrix of 4-byte elements; copy moves it as it is; view moves nothing." in text
    )


def test_a_view_has_its_lesson(opened):
    assert one(opened("kernel/view"), ".lesson").text


def test_a_page_that_is_gone_to_has_no_ring_around_it(opened):
    browser = opened()
    keys(browser, Keys.TAB)
    browser.execute_script("location.hash = '#/lessons'")
    settle(browser)
    assert browser.switch_to.active_element == one(browser, "main")
    assert browser.execute_script("return getComputedStyle(arguments[0]).outlineStyle", one(browser, "main")) == "none"


@pytest.fixture
def narrow(browser):
    metrics = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    yield
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_narrow_table_says_that_it_scrolls(opened, narrow):
    browser = opened()
    region, hint = one(browser, ".scroll"), one(browser, ".sideways")
    assert hint.is_displayed()
    assert "more" in region.get_attribute("class").split()
    browser.execute_script("arguments[0].scrollLeft = 9999", region)
    settle(browser)
    assert "more" not in region.get_attribute("class").split()


def test_a_wide_table_does_not(opened):
    assert not one(opened(), ".sideways").is_displayed()


def test_the_picture_follows_the_steps_on_a_narrow_screen(opened, narrow):
    browser = opened("kernel/shared_no_padding")
    steps, picture = one(browser, ".timeline"), one(browser, ".hardware")
    assert 0 <= picture.rect["y"] - (steps.rect["y"] + steps.rect["height"]) < 40


def test_light_and_dark(opened):
    browser = opened("kernel/naive")
    paper = lambda: browser.execute_script("return getComputedStyle(document.documentElement).backgroundColor")  # noqa: E731
    keys(browser, Keys.ARROW_RIGHT)
    before = paper()
    one(browser, "#theme").click()
    assert paper() != before
    assert one(browser, ".where").text.startswith("Step 2")


@pytest.mark.parametrize("part", ["", "kernel/shared_padding", "lessons", "compare/naive/tiled_32"])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wider_than_the_window(opened, part, width):
    browser = opened(part)
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        settle(browser)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_skip_link_stays_on_its_page(opened):
    browser = opened("kernel/naive")
    keys(browser, Keys.TAB, Keys.ENTER)
    assert browser.switch_to.active_element == one(browser, "main")
    assert one(browser, "h1").text.startswith("naive")


def test_every_control_has_a_name(opened):
    browser = opened("kernel/tiled_32")
    for control in every(browser, "button, select, input, canvas:not([aria-hidden]), a"):
        assert control.accessible_name, control.get_attribute("outerHTML")


def test_a_warp_outside_of_the_matrix_has_no_steps(opened, tmp_path):
    page = tmp_path / "small.html"
    cornerturn("report", "-o", page, "--size", "3x5", "--kernel", "naive")
    browser = opened()
    browser.get(f"{page.as_uri()}#/kernel/naive")
    settle(browser)
    Select(one(browser, ".explorer .choice:nth-child(2) select")).select_by_visible_text("9")
    assert one(browser, ".now").text == "This warp touches no memory: it is outside the matrix."
    assert every(browser, ".timeline button") == []
    keys(browser, Keys.ARROW_RIGHT, " ", Keys.END)


def test_an_unknown_kernel_is_said_to_be_so(opened):
    browser = opened("kernel/nonesuch")
    assert "There is no such kernel on this page" in one(browser, "main").text
    opened("kernel/f32_diagonal2d")
    assert "rows and cols must be equal: got 64 x 96" in one(browser, "main").text


def test_the_list_begins_where_a_learner_looks(opened):
    page = opened()
    assert page.find_element(By.CSS_SELECTOR, "[data-kernel]").get_attribute("data-kernel") == "naive"


@pytest.fixture
def window(browser):
    """Makes the page that is seen so many pixels wide and high."""

    def window(width, height):
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    yield window
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


TO_THE_CONFLICT = "live.player.to(live.player.explorers[0].steps.findIndex((step) => step.phase === 'take'))"


def seen(page, selector):
    """Whether each element stands within the window, without scrolling."""
    within = (
        "return [...document.querySelectorAll(arguments[0])].map((each) => { const box = each.getBoundingClientRect(); "
        "return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth; })"
    )
    return page.execute_script(within, selector)


def test_the_picture_of_a_conflict_is_above_the_fold(opened, window):
    window(1280, 900)
    page = opened("kernel/shared_no_padding")
    page.execute_script(TO_THE_CONFLICT)
    assert seen(page, ".hardware .request") == [True]
    assert "32 wavefronts" in page.find_element(By.CSS_SELECTOR, ".hardware .verdict").text


def test_the_picture_keeps_its_height_while_the_warp_steps(opened, window):
    window(1280, 900)
    page = opened("kernel/shared_no_padding")
    tops = set()
    for _ in range(12):
        tops.add(page.execute_script("return document.querySelector('.source').getBoundingClientRect().top"))
        page.find_element(By.TAG_NAME, "body").send_keys(Keys.ARROW_RIGHT)
    assert len(tops) == 1


@pytest.mark.parametrize(("kernel", "others"), [("naive", []), ("shared_no_padding", ["stored by other warps"])])
def test_every_kind_of_cell_has_its_legend(opened, kernel, others):
    page = opened(f"kernel/{kernel}")
    keys = [key.text for key in page.find_elements(By.CSS_SELECTOR, ".stage .legend .key")]
    assert keys == ["at work now", "in a step before", *others, "not yet"]


def test_at_400_pixels_compare_shows_both_kernels(opened, window):
    window(400, 800)
    page = opened("compare/shared_no_padding/shared_padding")
    page.execute_script(TO_THE_CONFLICT)
    page.execute_script("scrollTo(0, document.querySelector('.both').offsetTop - 60)")
    assert seen(page, ".both .request") == [True, True]
    assert [each.text.split()[0] for each in page.find_elements(By.CSS_SELECTOR, ".both .verdict")] == ["32", "1"]
