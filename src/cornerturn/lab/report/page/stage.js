"use strict";
// The stage of the explorer: the two matrices, shared memory as its 32 banks, the registers of the lanes between them,
// and below what the hardware makes of the request.

const WINDOW = 64; // elements per side that a matrix shows at most of a block; beyond, it shows the warp's own
const FLIGHT_MS = 550;
const MARGIN = 8; // fewest rows and columns

// The part of a matrix to show: what the block touches, or what the warp does where that is too much to see.
function windowOf(kernel, memory, block, steps) {
  const size =
    memory === "x" ? [LAB.rows, LAB.cols] : [(LAB.rows * LAB.cols) / kernel.pitch.y, kernel.pitch.y];
  let [top, bottom, left, right] = kernel.blocks[block][memory];
  if (bottom - top >= WINDOW || right - left >= WINDOW) {
    const own = steps
      .filter((step) => step.memory === memory)
      .flatMap((step) =>
        step.offsets
          .flatMap((offset) => [offset, offset + step.width - 1])
          .map((offset) => elementAt(kernel, memory, offset)),
      );
    if (own.length) {
      const [rows, cols] = [own.map(([row]) => row), own.map(([, col]) => col)];
      [top, bottom, left, right] = [
        Math.min(...rows),
        Math.max(...rows),
        Math.min(...cols),
        Math.max(...cols),
      ];
    }
  }
  [top, bottom] = widened(top, bottom, size[0]);
  [left, right] = widened(left, right, size[1]);
  return { top, left, rows: bottom - top + 1, cols: right - left + 1 };
}

function widened(first, last, size) {
  const missing = MARGIN - (last - first + 1);
  if (missing <= 0) return [first, last];
  const end = Math.min(size - 1, last + missing);
  return [Math.max(0, end - MARGIN + 1), end];
}

// One grid of cells on a canvas. `paint` is called as paint(fill, frame), each of them (row, col, rows, cols, colour).
class Grid {
  constructor(label) {
    this.canvas = element("canvas", { role: "img", "aria-label": label });
    this.title = element("figcaption", {}, "");
    this.figure = element("figure", { class: "grid" }, this.title, this.canvas);
  }

  layout(rows, cols, width, height) {
    this.rows = rows;
    this.cols = cols;
    this.cell = Math.max(1, Math.min(width / cols, height / rows, 22));
    const ratio = devicePixelRatio || 1;
    this.canvas.style.width = `${this.cell * cols}px`;
    this.canvas.style.height = `${this.cell * rows}px`;
    this.canvas.width = Math.round(this.cell * cols * ratio);
    this.canvas.height = Math.round(this.cell * rows * ratio);
    this.pen = this.canvas.getContext("2d");
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  clear(background, lines, every) {
    const { pen, cell } = this;
    pen.fillStyle = background;
    pen.fillRect(0, 0, cell * this.cols, cell * this.rows);
    pen.fillStyle = lines;
    if (cell >= 4) {
      for (let col = 1; col < this.cols; col++)
        pen.fillRect(col * cell - 0.5, 0, col % every ? 0.5 : 1, cell * this.rows);
      for (let row = 1; row < this.rows; row++) pen.fillRect(0, row * cell - 0.5, cell * this.cols, 0.5);
    }
  }

  fill(row, col, tint) {
    const gap = this.cell >= 6 ? 1 : this.cell >= 4 ? 0.5 : 0;
    this.pen.fillStyle = tint;
    this.pen.fillRect(col * this.cell + gap / 2, row * this.cell + gap / 2, this.cell - gap, this.cell - gap);
  }

  frame(row, col, tint) {
    const size = Math.max(this.cell, 5);
    this.pen.strokeStyle = tint;
    this.pen.lineWidth = this.cell < 8 ? 1 : 2;
    this.pen.strokeRect((col + 0.5) * this.cell - size / 2, (row + 0.5) * this.cell - size / 2, size, size);
  }

  write(row, col, text, tint) {
    if (this.cell < 13) return;
    this.pen.fillStyle = tint;
    this.pen.font = `${Math.min(11, this.cell * 0.55)}px ui-monospace, monospace`;
    this.pen.textAlign = "center";
    this.pen.textBaseline = "middle";
    this.pen.fillText(text, (col + 0.5) * this.cell, (row + 0.5) * this.cell + 0.5);
  }

  // Where a cell's middle lies, in pixels of the page.
  middle(row, col) {
    const box = this.canvas.getBoundingClientRect();
    return [box.left + (col + 0.5) * this.cell, box.top + (row + 0.5) * this.cell];
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return [
      Math.floor((event.clientY - box.top) / this.cell),
      Math.floor((event.clientX - box.left) / this.cell),
    ];
  }
}

// The hardware's view of a request: lines of global memory cut into sectors, or the banks, wavefront by wavefront.
const DENSE = 8; // more rows than that are drawn lower

function drawRequest(kernel, request) {
  const shared = request.memory === "shared";
  const rows = request.picture.rows;
  const dense = rows.length > DENSE;
  const head = shared
    ? element(
        "div",
        { class: "words head", "aria-hidden": "true" },
        element("span", { class: "label" }, "bank"),
        [0, 8, 16, 24].map((bank) => element("span", { class: "sector" }, `${bank}`)),
      )
    : null;
  const body = rows.map((row) => {
    const label = shared
      ? groupLabel(row)
      : placeName(kernel, { memory: request.memory, width: kernel.elementBytes }, request.base + row[0]);
    return wordsRow(label, row[row.length - 1]);
  });
  return element("div", { class: dense ? "request dense" : "request" }, head, body);
}

function groupLabel([first, last]) {
  return first === 0 && last === WARP - 1 ? "" : `lanes ${first}–${last}`;
}

const GLYPHS = "0123456789abcdefghijklmnopqrstuv";

// 32 words in four groups of eight: who uses them, which are moved for nothing.
function wordsRow(label, cells) {
  const groups = [0, 8, 16, 24].map((first) =>
    element(
      "span",
      { class: "sector" },
      [...cells.slice(first, first + 8)].map((cell) => {
        const lane = GLYPHS.indexOf(cell);
        if (lane < 0) return element("i", { class: cell === "-" ? "unused" : "" });
        return element(
          "i",
          { class: "lane", "data-lane": lane, style: { background: laneColour(lane), color: laneInk(lane) } },
          `${lane}`,
        );
      }),
    ),
  );
  return element("div", { class: "words" }, element("span", { class: "label" }, label), groups);
}

function middleOf(node) {
  const box = node.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}

const flights = new WeakMap(); // the canvas and the flight that is on it; a later one ends it

// Squares in the lanes' colours fly over a canvas, each along [lane, from, to], in pixels of the page.
function fly(canvas, paths) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const box = canvas.getBoundingClientRect();
  const ratio = devicePixelRatio || 1;
  canvas.width = box.width * ratio;
  canvas.height = box.height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const start = performance.now();
  flights.set(canvas, start);
  const frame = (time) => {
    const done = Math.max(0, Math.min(1, (time - start) / FLIGHT_MS));
    pen.clearRect(0, 0, box.width, box.height);
    if (done === 1 || flights.get(canvas) !== start) return;
    const eased = done < 0.5 ? 2 * done * done : 1 - 2 * (1 - done) * (1 - done);
    for (const [lane, from, to] of paths) {
      const [x, y] = [0, 1].map((axis) => from[axis] + (to[axis] - from[axis]) * eased);
      pen.fillStyle = laneColour(lane);
      pen.fillRect(x - box.left - 4, y - box.top - 4, 8, 8);
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}
