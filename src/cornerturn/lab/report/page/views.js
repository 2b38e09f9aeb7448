"use strict";
// What is said of a step, and of a lane's thread.

function nowView(step, at, count) {
  const place = element("p", { class: "where" }, `Step ${at + 1} of ${count}, line ${step.line}`);
  const title = element("p", { class: "title" }, titleOf(step));
  return step.phase === "barrier"
    ? [place, title]
    : [place, title, element("p", { class: "formula code" }, formulaOf(step))];
}

function formulaOf(step) {
  if (!step.formula) return "no formula found for these addresses";
  return step.memory === "shared" ? `byte ${step.formula}` : step.formula;
}

// What the hardware makes of the step.
function hardwareView(kernel, step) {
  if (step.phase === "barrier") {
    return [
      element(
        "p",
        { class: "quiet-text" },
        "Nothing moves. What was stored before may be taken from here on.",
      ),
    ];
  }
  const { passes, ideal, rows } = step.picture;
  const shared = step.memory === "shared";
  const heading = shared
    ? "The 32 banks: one row is one wavefront"
    : `128-byte lines of ${step.memory}, four sectors each`;
  const cost = element(
    "p",
    { class: passes > ideal ? "verdict wasted" : "verdict" },
    element("strong", {}, plural(passes, unitOf(step))),
    shared ? "" : ` in ${plural(rows.length, "line")}`,
    `, ideal ${whole(ideal)}`,
  );
  return [
    element("div", { class: "cost" }, element("h3", {}, heading), cost),
    drawRequest(kernel, step),
    element(
      "p",
      { class: "legend" },
      legendKey("lane", "a 4-byte word and the lane that uses it"),
      shared ? null : legendKey("unused", "moved because its sector is, and not used"),
    ),
  ];
}

// Every step that a lane's thread takes part in; `at` is the one that is shown.
function wayView(kernel, steps, at, warp, lane) {
  if (lane === null) {
    return [
      element(
        "p",
        { class: "quiet-text" },
        "Point at a lane, an element or a word to follow its thread; a click keeps it.",
      ),
    ];
  }
  const name = `The way of thread ${threadName(kernel, warp * WARP + lane)}`;
  const heading = element("h3", {}, name, element("small", {}, ` lane ${lane} of warp ${warp}`));
  const way = wayOf(kernel, steps, lane);
  if (!way.length) return [heading, element("p", {}, "It touches no memory: it is outside the matrix.")];
  return [
    heading,
    element(
      "ol",
      {},
      way.map((step) => wayItem(step, at)),
    ),
  ];
}

function wayItem(step, at) {
  return element(
    "li",
    { class: step.number === at ? "here" : null, value: step.number + 1 },
    element("span", { class: "verb" }, step.verb),
    element("span", { class: "code" }, step.text),
    step.from ? element("small", {}, ` ${step.from}`) : null,
  );
}

function lanesTable(kernel, step, warp) {
  const head = ["lane", "thread", "place", "byte", "moves"].map((name) =>
    element("th", { scope: "col" }, name),
  );
  const rows = step.lanes.map((lane, n) => {
    const cells = [
      threadName(kernel, warp * WARP + lane),
      placeName(kernel, step, step.offsets[n]),
      `+${whole(step.offsets[n])}`,
      valueNames(kernel, step.values[n]),
    ];
    return element(
      "tr",
      { "data-lane": lane },
      element("th", { scope: "row" }, `${lane}`),
      cells.map((text) => element("td", {}, text)),
    );
  });
  const table = element(
    "table",
    { class: "plain" },
    element("thead", {}, element("tr", {}, head)),
    element("tbody", {}, rows),
  );
  return element("div", { class: "scroll" }, table);
}
