"use strict";
// A kernel's page: what it teaches, its source with counts beside the lines, the explorer, its tile in shared memory.

const KEYWORDS =
  "template typename unsigned const float float4 int void if else for while return auto asm volatile inline static " +
  "constexpr struct extern __global__ __device__ __shared__ __syncthreads def class in and or not None True False";
const WORDS = new RegExp(
  [
    String.raw`(\/\/.*|#.*)`, // comments, and what is meant for the preprocessor
    String.raw`("(?:[^"\\]|\\.)*")`,
    String.raw`\b(${KEYWORDS.replaceAll(" ", "|")})\b`,
    String.raw`\b(\d+)\b`,
  ].join("|"),
  "g",
);
const KINDS = ["comment", "string", "keyword", "literal"];

function highlighted(line) {
  const parts = [];
  let end = 0;
  for (const match of line.matchAll(WORDS)) {
    parts.push(line.slice(end, match.index));
    const kind = KINDS[match.slice(1).findIndex((group) => group !== undefined)];
    parts.push(element("span", { class: kind }, match[0]));
    end = match.index + match[0].length;
  }
  parts.push(line.slice(end));
  return parts;
}

// The source; beside each line the memory instructions that the compiler made of it.
class Source {
  constructor(kernel) {
    const { first, lines, file, instance } = kernel.source;
    this.lines = new Map();
    const rows = lines.map((text, n) => {
      const counts = kernel.counts.filter((count) => count.line === first + n);
      const row = element(
        "div",
        { class: "line", "data-line": first + n },
        element("span", { class: "gutter" }, counts.map(countChip)),
        element("span", { class: "line-number" }, `${first + n}`),
        element("code", {}, highlighted(text)),
      );
      this.lines.set(first + n, row);
      return row;
    });
    this.node = element(
      "figure",
      { class: "source" },
      element("figcaption", {}, `${file}: ${instance}`),
      element(
        "div",
        { class: "listing", tabindex: "0", role: "region", "aria-label": "Source with counts" },
        rows,
      ),
    );
    this.listing = this.node.lastChild;
  }

  mark(line) {
    for (const [at, row] of this.lines) row.classList.toggle("here", at === line);
    const row = this.lines.get(line);
    if (row) keepInView(this.listing, row);
  }
}

function countChip(count) {
  const unit = count.space === "global" ? "sectors" : "wavefronts";
  const share = count.used ? `, ${Math.round(100 * count.used)}% of their bytes used` : "";
  const title =
    `${count.space} ${count.kind}, ${count.width} bytes per lane, ${whole(count.requests)} requests, ` +
    (count.found ? `${whole(count.found)} ${unit} (ideal ${whole(count.ideal)})${share}` : "");
  const each = count.found ? perRequest(count.requests, count.found, count.ideal) : whole(count.requests);
  return element(
    "span",
    {
      class: `count ${count.space} ${count.waste > 1 ? "wasted" : ""}`,
      title,
      "data-found": count.found,
      "data-requests": count.requests,
    },
    element("span", {}, `${count.space} ${count.kind}`),
    element("b", {}, each),
  );
}

function kernelPage(name, live) {
  const kernel = KERNELS.get(name);
  if (!kernel?.blocks)
    return [
      element("h1", {}, name),
      kernel ? element("p", { class: "lesson" }, sentence(kernel.lesson)) : null,
      element("p", {}, kernel ? kernel.result.refused : "There is no such kernel on this page."),
      element("p", {}, element("a", { href: "#/" }, "All kernels")),
    ].filter(Boolean);
  const source = new Source(kernel);
  const explorer = new Explorer(kernel, (line) => source.mark(line));
  const player = new Player([explorer]);
  live.player = player;
  explorer.node.prepend(player.node);
  const { grid, block } = kernel.launch;
  return [
    kernelSteps(kernel),
    element("h1", { class: "code" }, kernel.name, " ", statusBadge(kernel.result)),
    element("p", { class: "lesson" }, sentence(kernel.lesson)),
    element(
      "div",
      { class: "workbench" },
      element("div", { class: "left" }, NARROW.matches ? null : explorer.hardware, source.node),
      explorer.node,
    ),
    element(
      "p",
      { class: "quiet-text" },
      `${grid.join(" x ")} blocks of ${block.join(" x ")} threads for x of ${LAB.rows} x ${LAB.cols}. `,
      "bx, by stand for blockIdx.x and .y, tx, ty for threadIdx.x and .y.",
      " ",
      element("a", { href: `#/compare/${kernel.name}/${partnerOf(kernel)}` }, "Compare with another kernel"),
    ),
    element(
      "section",
      {},
      element("h2", {}, "Diagnosis"),
      element(
        "ul",
        {},
        kernel.diagnosis.map((text) => element("li", {}, text)),
      ),
    ),
    element(
      "section",
      {},
      element("h2", {}, "Counts of the whole launch"),
      element("div", { class: "scroll" }, countsTable([kernel])),
    ),
    kernel.tile ? tileSection(kernel.tile) : null,
  ].filter(Boolean);
}

// The kernels before and after in the catalogue.
function kernelSteps(kernel) {
  const shown = LAB.kernels.filter((each) => each.blocks);
  const at = shown.indexOf(kernel);
  return element(
    "nav",
    { class: "neighbours", "aria-label": "Kernels before and after" },
    at > 0
      ? element("a", { href: `#/kernel/${shown[at - 1].name}` }, `‹ ${shown[at - 1].name}`)
      : element("span", {}),
    at + 1 < shown.length
      ? element("a", { href: `#/kernel/${shown[at + 1].name}` }, `${shown[at + 1].name} ›`)
      : element("span", {}),
  );
}

// Place by place the counts of one kernel, or of two beside each other.
function countsTable(kernels) {
  const several = kernels.length > 1;
  const head = ["", ...kernels.flatMap(() => ["requests", "passes", "ideal", "per request"])];
  return element(
    "table",
    { class: "plain counts" },
    element(
      "thead",
      {},
      several
        ? element(
            "tr",
            {},
            element("td", {}),
            kernels.map((kernel) =>
              element("th", { colspan: 4, scope: "colgroup" }, kernelLink(kernel.name)),
            ),
          )
        : null,
      element(
        "tr",
        {},
        head.map((name) => element("th", { scope: "col" }, name)),
      ),
    ),
    element(
      "tbody",
      {},
      PLACES.map((place, n) =>
        element(
          "tr",
          { "data-place": place },
          element("th", { scope: "row" }, place, element("small", {}, n < 2 ? " sectors" : " wavefronts")),
          kernels.flatMap((kernel) => {
            const { requests, found, ideal } = kernel.result.places[n];
            const cells = requests
              ? [whole(requests), whole(found), whole(ideal), perRequest(requests, found, ideal)]
              : ["–", "", "", ""];
            return cells.map((text, k) =>
              element(
                "td",
                { class: `number ${k === 3 && found > ideal ? "wasted" : ""}`, "data-kernel": kernel.name },
                text,
              ),
            );
          }),
        ),
      ),
    ),
  );
}

// The tile plain, padded and swizzled: every element in the colour and with the number of its bank.
function tileSection(tile) {
  return element(
    "section",
    {},
    element("h2", {}, "The tile in shared memory"),
    element(
      "p",
      {},
      "Each cell is an element of the tile of x, in the colour of its bank. ",
      `Framed: what the first warp ${tile.access}s in one request. `,
      "Where the frames share a colour, they wait for each other.",
    ),
    element(
      "div",
      { class: "tiles" },
      tile.arrangements.map((each) => tileFigure(tile, each)),
    ),
  );
}

function tileFigure(tile, arrangement) {
  const [rows, cols] = [arrangement.banks.length, arrangement.banks[0].length];
  const grid = new Grid(`banks of the tile, ${arrangement.kind}`);
  grid.layout(rows, cols, 340, 340);
  grid.clear(colour("paper"), colour("rule"), 8);
  const marked = [];
  arrangement.banks.forEach((line, row) =>
    [...line].forEach((digit, col) => {
      const bank = parseInt(digit, 36);
      grid.fill(row, col, laneColour(bank));
      grid.write(row, col, `${bank}`, laneInk(bank));
      if (tile.taken[row][col] === "1") marked.push([row, col]);
    }),
  );
  marked.forEach(([row, col]) => grid.frame(row, col, colour("ink")));
  grid.title.append(
    element(
      "strong",
      {},
      arrangement.own ? `${arrangement.kind}, as in this kernel` : `${arrangement.kind} instead`,
    ),
    element("span", { class: "code" }, ` ${arrangement.notation}`),
  );
  const costs = ["store", "load"].map((kind) => {
    const { requests, wavefronts, ideal, width } = arrangement[kind];
    return element(
      "li",
      { class: wavefronts > ideal ? "wasted" : null },
      `${kind}: ${plural(requests, "request")} of ${width} bytes, ${plural(wavefronts, "wavefront")}, ideal ${whole(ideal)}`,
    );
  });
  grid.figure.append(element("ul", { class: "costs" }, costs));
  grid.figure.classList.toggle("own", arrangement.own);
  return grid.figure;
}
