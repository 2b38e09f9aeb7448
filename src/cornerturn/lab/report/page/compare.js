"use strict";
// Two kernels in lockstep.

// Compared with by default: its neighbour in the catalogue.
function partnerOf(kernel) {
  const shown = LAB.kernels.filter((each) => each.blocks);
  const at = shown.indexOf(kernel);
  return (shown[at + 1] ?? shown[at - 1] ?? kernel).name;
}

// Where two explorers do not fit side by side, what the hardware makes of the step does.
function bothView(pair, explorers) {
  return element(
    "div",
    { class: "both" },
    pair.map((kernel, n) =>
      element("section", {}, element("h2", {}, kernelLink(kernel.name)), explorers[n].hardware),
    ),
  );
}

function comparePage(first, second, live) {
  const shown = LAB.kernels.filter((each) => each.blocks);
  if (!shown.length) return [element("h1", {}, "Compare"), element("p", {}, "No kernel of this page ran.")];
  const byDefault = ["shared_no_padding", "shared_padding"].every((name) => KERNELS.get(name)?.blocks)
    ? ["shared_no_padding", "shared_padding"]
    : [shown[0].name, partnerOf(shown[0])];
  const names = [first, second].map((name, n) => (KERNELS.get(name)?.blocks ? name : byDefault[n]));
  const pair = names.map((name) => KERNELS.get(name));
  const go = (n, name) => {
    location.hash = `#/compare/${names.map((old, k) => (k === n ? name : old)).join("/")}`;
  };
  const choices = names.map((name, n) =>
    choice(
      n ? "and" : "Compare",
      shown.map((each) => each.name),
      (at) => go(n, shown[at].name),
      shown.findIndex((each) => each.name === name),
    ),
  );
  const explorers = pair.map((kernel) => new Explorer(kernel));
  explorers[0].twin = explorers[1];
  explorers[1].twin = explorers[0];
  const player = new Player(explorers);
  live.player = player;
  return [
    element("h1", {}, "Two kernels in lockstep"),
    element(
      "div",
      { class: "controls" },
      choices.map((each) => each.node),
    ),
    element("div", { class: "sticky" }, player.node),
    NARROW.matches ? bothView(pair, explorers) : null,
    element(
      "div",
      { class: "pair" },
      pair.map((kernel, n) =>
        element(
          "article",
          {},
          element("h2", {}, kernelLink(kernel.name)),
          element("p", { class: "lesson" }, sentence(kernel.lesson)),
          explorers[n].node,
        ),
      ),
    ),
    element(
      "section",
      {},
      element("h2", {}, "Counts of the whole launch"),
      element("div", { class: "scroll" }, countsTable(pair)),
    ),
  ].filter(Boolean);
}
