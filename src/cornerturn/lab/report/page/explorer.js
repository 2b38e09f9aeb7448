"use strict";
// The access explorer: one warp of one block, stepped through; whatever lane is pointed at is followed everywhere.

const SHARED_COLUMNS = 32; // banks
const FLIGHT_MS = 550;
const PLAY_MS = 1500;

class Explorer {
  // `marked(line)` is told which line of the source is at work.
  constructor(kernel, marked = () => {}) {
    this.kernel = kernel;
    this.marked = marked;
    this.block = 0;
    this.warp = 0;
    this.at = 0;
    this.lane = null; // followed while pointed at
    this.pinned = null; // followed until another is chosen
    this.build();
    this.choose(0, 0);
  }

  build() {
    const { kernel } = this;
    this.grids = { x: new Grid("elements of x that the warp touches"), y: new Grid("elements of y that the warp touches") };
    if (kernel.instructions.some((each) => each.memory === "shared")) {
      this.grids.shared = new Grid("shared memory: a column is a bank, a row is 128 bytes");
      this.grids.shared.figure.classList.add("of-shared");
    }
    this.blockChoice = choice("Block", kernel.blocks.map(({ at }) => at.join(",")), (n) => this.chooseInPair(n, this.warp));
    this.warpChoice = choice("Warp", kernel.blocks[0].warps.map((_, n) => `${n}`), (n) => this.chooseInPair(this.block, n));
    this.laneChoice = choice("Follow lane", ["none", ...Array(WARP).keys()].map(String), (n) => this.keep(n ? n - 1 : null));
    this.timeline = element("ol", { class: "timeline", "aria-label": "Steps of the warp" });
    this.now = element("div", { class: "now", "aria-live": "polite" });
    this.registers = element("div", { class: "registers" },
      Array.from({ length: WARP }, (_, lane) => element("i", { class: "lane", "data-lane": lane }, `${lane}`)));
    this.flights = element("canvas", { class: "flights", "aria-hidden": "true" });
    this.stage = element("div", { class: "stage" },
      element("div", { class: "grids" }, this.grids.x.figure, this.grids.shared?.figure, this.grids.y.figure),
      element("figure", { class: "grid wide" }, element("figcaption", {}, "registers, one lane each"), this.registers),
      this.flights);
    this.hardware = element("div", { class: "hardware" });
    this.way = element("div", { class: "way" });
    this.table = element("details", { class: "lanes", ontoggle: () => this.drawTable() }, element("summary", {}, "All lanes as a table"));
    this.node = element("section", { class: "explorer", "aria-label": `Access explorer of ${kernel.name}` },
      element("div", { class: "controls" }, this.blockChoice.node, this.warpChoice.node, this.laneChoice.node),
      this.timeline, this.now, this.stage, this.hardware, this.way, this.table);
    this.parts = [this.node, this.hardware]; // a page may put the hardware's view elsewhere
    for (const part of this.parts) {
      part.addEventListener("pointerover", (event) => this.pointed(event.target));
      part.addEventListener("pointerdown", (event) => this.pinTarget(event.target));
      part.addEventListener("pointerleave", () => this.follow(null));
    }
    for (const [memory, grid] of Object.entries(this.grids)) {
      grid.canvas.addEventListener("pointermove", (event) => this.follow(this.laneAt(memory, grid.cellAt(event))));
      grid.canvas.addEventListener("pointerdown", (event) => this.pin(this.laneAt(memory, grid.cellAt(event))));
    }
    new ResizeObserver(() => this.layout()).observe(this.stage);
  }

  // The same block and warp in both, as far as the other has them.
  chooseInPair(block, warp) {
    for (const explorer of this.pair) {
      const { blocks } = explorer.kernel;
      const own = Math.min(block, blocks.length - 1);
      explorer.choose(own, Math.min(warp, blocks[own].warps.length - 1));
    }
  }

  choose(block, warp) {
    this.block = block;
    this.warp = warp;
    this.steps = stepsOf(this.kernel, block, warp);
    this.at = Math.min(this.at, Math.max(this.steps.length - 1, 0));
    this.blockChoice.select(block);
    this.warpChoice.select(warp);
    this.timeline.replaceChildren(...this.steps.map((step, n) => this.chip(step, n)));
    this.layout();
    this.show(this.at, false);
  }

  chip(step, n) {
    const wasted = step.picture && step.picture.passes > step.picture.ideal;
    const cost = step.picture ? costOf(step) : "";
    return element("li", {}, element("button", {
      type: "button", class: `chip phase-${step.phase}${wasted ? " wasted" : ""}`, title: `line ${step.line}: ${step.phase} ${cost}`,
      "data-step": n, onclick: () => this.stepTo(n),
    }, step.phase));
  }

  stepTo(n) {
    this.show(n, n > this.at);
    this.node.dispatchEvent(new CustomEvent("stepped", { detail: n, bubbles: true }));
  }

  get length() {
    return this.steps.length;
  }

  // Show one step; let its elements fly when time goes forward.
  show(n, flying = true) {
    this.at = Math.max(0, Math.min(n, this.steps.length - 1));
    const step = this.steps[this.at];
    this.node.dataset.step = this.at;
    for (const button of this.timeline.querySelectorAll("button")) {
      const own = Number(button.dataset.step) === this.at;
      button.toggleAttribute("aria-current", own);
      if (own) keepInView(this.timeline, button);
    }
    if (!step) {
      this.now.replaceChildren("This warp touches no memory.");
      this.hardware.replaceChildren();
      return;
    }
    this.marked(step.line);
    this.drawNow(step);
    this.draw();
    if (flying && step.lanes) this.fly(step);
  }

  drawNow(step) {
    const place = element("p", { class: "where" }, `Step ${this.at + 1} of ${this.steps.length}, line ${step.line}`);
    if (step.phase === "barrier") {
      this.now.replaceChildren(place, element("p", { class: "title" }, titleOf(step)));
      this.hardware.replaceChildren(element("p", { class: "quiet-text" }, "Nothing moves. What was stored before may be taken from here on."));
      return;
    }
    const { passes, ideal } = step.picture;
    this.now.replaceChildren(place, element("p", { class: "title" }, titleOf(step)),
      element("p", { class: "formula code" }, formulaOf(step)));
    const heading = step.memory === "shared" ? "The 32 banks: one row is one wavefront" : `128-byte lines of ${step.memory}, four sectors each`;
    this.hardware.replaceChildren(
      element("div", { class: "cost" }, element("h3", {}, heading),
        element("p", { class: passes > ideal ? "verdict wasted" : "verdict" }, element("strong", {}, plural(passes, unitOf(step))),
          step.memory === "shared" ? "" : ` in ${plural(step.picture.rows.length, "line")}`, `, ideal ${whole(ideal)}`)),
      drawRequest(this.kernel, step),
      element("p", { class: "legend" }, legendKey("lane", "a 4-byte word and the lane that uses it"),
        step.memory === "shared" ? null : legendKey("unused", "moved because its sector is, and not used")));
  }

  layout() {
    const width = this.stage.clientWidth;
    if (!width) return;
    const count = this.grids.shared ? 3 : 2;
    const columns = width < 520 ? 2 : count;
    const room = (width - 16 * (columns - 1)) / columns;
    this.stage.style.setProperty("--columns", columns);
    this.stage.classList.toggle("narrow", columns < count);
    this.windows = {
      x: windowOf(this.kernel, "x", this.block, this.steps),
      y: windowOf(this.kernel, "y", this.block, this.steps),
    };
    for (const memory of ["x", "y"]) {
      const { top, left, rows, cols } = this.windows[memory];
      this.grids[memory].layout(rows, cols, room, Math.max(260, room));
      this.grids[memory].title.textContent = `${memory}[${top}..${top + rows - 1}, ${left}..${left + cols - 1}]`;
    }
    if (this.grids.shared) {
      const words = this.kernel.blocks[this.block].warps.flatMap((_, warp) => stepsOf(this.kernel, this.block, warp))
        .filter((step) => step.memory === "shared").map((step) => (Math.max(...step.offsets) + step.width) / 4);
      this.sharedRows = Math.max(MARGIN, Math.ceil(Math.max(...words) / SHARED_COLUMNS));
      this.grids.shared.layout(this.sharedRows, SHARED_COLUMNS, columns < count ? width : room, Math.max(260, room));
      this.grids.shared.title.textContent = "shared: a column is a bank";
    }
    this.draw();
  }

  // Cells of a grid that lane number n of a request touches.
  cells(request, n) {
    const words = Math.max(1, request.width / 4);
    return Array.from({ length: words }, (_, word) => {
      const offset = request.offsets[n] + 4 * word;
      if (request.memory === "shared") return [Math.floor(offset / 128), (offset >> 2) % SHARED_COLUMNS];
      const [row, col] = elementAt(this.kernel, request.memory, offset);
      const { top, left } = this.windows[request.memory];
      return [row - top, col - left];
    });
  }

  draw() {
    if (!this.windows || !this.steps.length) return;
    const [paper, rule, ink] = [colour("paper"), colour("rule"), colour("ink")];
    const current = this.steps[this.at];
    const lane = this.lane ?? this.pinned;
    this.owners = {};
    for (const [memory, grid] of Object.entries(this.grids)) {
      const owners = new Map();
      grid.clear(paper, rule, 8);
      if (memory === "shared") this.drawOthers(grid);
      grid.pen.globalAlpha = 0.38;
      for (const request of this.steps.slice(0, this.at)) this.paint(grid, memory, request, owners, false);
      grid.pen.globalAlpha = 1;
      this.paint(grid, memory, current, owners, true);
      if (lane !== null) {
        for (const request of this.steps) {
          const n = request.memory === memory ? request.lanes.indexOf(lane) : -1;
          if (n >= 0) for (const [row, col] of this.cells(request, n)) grid.frame(row, col, ink);
        }
      }
      this.owners[memory] = owners;
    }
    for (const box of this.registers.children) {
      const number = Number(box.dataset.lane);
      const active = current.lanes?.includes(number);
      box.classList.toggle("off", !active);
      box.style.background = active ? laneColour(number) : "";
      box.style.color = active ? laneInk(number) : "";
    }
    this.markLane(lane);
    this.drawTable();
  }

  paint(grid, memory, request, owners, now) {
    if (request.memory !== memory) return;
    request.lanes.forEach((lane, n) => {
      for (const [row, col] of this.cells(request, n)) {
        grid.fill(row, col, laneColour(lane));
        if (now) grid.write(row, col, `${lane}`, laneInk(lane));
        owners.set(`${row},${col}`, lane);
      }
    });
  }

  // What other warps have stored in shared memory by now: all that they store before the barriers that are passed.
  drawOthers(grid) {
    const passed = this.steps.slice(0, this.at + 1).filter((step) => step.phase === "barrier").length;
    const tint = colour("faint");
    this.kernel.blocks[this.block].warps.forEach((_, warp) => {
      let barriers = 0;
      for (const step of stepsOf(this.kernel, this.block, warp)) {
        if (step.phase === "barrier") barriers += 1;
        else if (step.phase === "stage" && barriers < passed && warp !== this.warp) {
          step.lanes.forEach((_, n) => this.cells(step, n).forEach(([row, col]) => grid.fill(row, col, tint)));
        }
      }
    });
  }

  laneAt(memory, [row, col]) {
    return this.owners?.[memory].get(`${row},${col}`) ?? null;
  }

  pointed(target) {
    if (target instanceof HTMLCanvasElement) return;
    const marked = target.closest?.("[data-lane]");
    this.follow(marked ? Number(marked.dataset.lane) : null);
  }

  pinTarget(target) {
    const marked = target.closest?.("[data-lane]");
    if (marked) this.pin(Number(marked.dataset.lane));
  }

  pin(lane) {
    this.keep(lane === this.pinned ? null : lane);
  }

  // Follow a lane until another is chosen; null follows none.
  keep(lane) {
    for (const explorer of this.pair) {
      explorer.pinned = lane;
      explorer.laneChoice.select(lane === null ? 0 : lane + 1);
      explorer.redrawFor(null);
    }
  }

  // Follow a lane while it is pointed at.
  follow(lane) {
    for (const explorer of this.pair) explorer.redrawFor(lane);
  }

  redrawFor(lane) {
    if (lane === this.lane && this.followed === (lane ?? this.pinned)) return;
    this.lane = lane;
    this.draw();
  }

  // This explorer, and the one beside it that does as this one.
  get pair() {
    return this.twin ? [this, this.twin] : [this];
  }

  markLane(lane) {
    this.followed = lane;
    for (const part of this.parts) {
      part.classList.toggle("following", lane !== null);
      for (const mark of part.querySelectorAll(".lane[data-lane], tr[data-lane]")) {
        mark.classList.toggle("followed", lane !== null && Number(mark.dataset.lane) === lane);
      }
    }
    if (lane === null) {
      this.way.replaceChildren(element("p", { class: "quiet-text" }, "Point at a lane, an element or a word to follow its thread; a click keeps it."));
      return;
    }
    const thread = this.warp * WARP + lane;
    const steps = wayOf(this.kernel, this.steps, this.warp, lane);
    this.way.replaceChildren(
      element("h3", {}, `The way of thread ${threadName(this.kernel, thread)}`, element("small", {}, ` lane ${lane} of warp ${this.warp}`)),
      steps.length
        ? element("ol", {}, steps.map((step) => element("li", { class: step.number === this.at ? "here" : null, value: step.number + 1 },
            element("span", { class: "verb" }, step.verb), element("span", { class: "code" }, step.text), step.from ? element("small", {}, ` ${step.from}`) : null)))
        : element("p", {}, "It touches no memory: it lies outside of the matrix."));
  }

  drawTable() {
    if (!this.table.open) return;
    const step = this.steps[this.at];
    this.table.querySelector(".scroll")?.remove();
    if (!step.lanes) return;
    const rows = step.lanes.map((lane, n) => element("tr", { "data-lane": lane },
      element("th", { scope: "row" }, `${lane}`), element("td", {}, threadName(this.kernel, this.warp * WARP + lane)),
      element("td", {}, placeName(this.kernel, step, step.offsets[n])), element("td", {}, `+${whole(step.offsets[n])}`),
      element("td", {}, valueNames(this.kernel, step.values[n]))));
    const head = element("tr", {}, ["lane", "thread", "place", "byte", "moves"].map((name) => element("th", { scope: "col" }, name)));
    this.table.append(element("div", { class: "scroll" }, element("table", { class: "plain" }, element("thead", {}, head), element("tbody", {}, rows))));
  }

  // The lanes' elements fly between memory and registers.
  fly(request) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || !this.grids[request.memory]) return;
    if (request.asynchronous && request.kind === "load") return; // its elements fly when they arrive
    const box = this.stage.getBoundingClientRect();
    const ratio = devicePixelRatio || 1;
    this.flights.width = box.width * ratio;
    this.flights.height = box.height * ratio;
    const pen = this.flights.getContext("2d");
    pen.scale(ratio, ratio);
    const inMemory = (step, n) => this.grids[step.memory].middle(...this.cells(step, n)[0]);
    const inRegister = (lane) => {
      const register = this.registers.children[lane].getBoundingClientRect();
      return [register.left + register.width / 2, register.top + register.height / 2];
    };
    const before = this.steps[this.at - 1];
    const paths = request.lanes.map((lane, n) => {
      const ends = [inMemory(request, n), request.asynchronous ? inMemory(before, n) : inRegister(lane)];
      const [from, to] = request.kind === "load" ? ends : ends.reverse();
      return { lane, from: [from[0] - box.left, from[1] - box.top], to: [to[0] - box.left, to[1] - box.top] };
    });
    const start = performance.now();
    const flight = (this.flight = {});
    const frame = (time) => {
      const done = Math.min(1, (time - start) / FLIGHT_MS);
      pen.clearRect(0, 0, box.width, box.height);
      if (done === 1 || this.flight !== flight) return;
      const eased = done < 0.5 ? 2 * done * done : 1 - 2 * (1 - done) * (1 - done);
      for (const { lane, from, to } of paths) {
        const [x, y] = [0, 1].map((axis) => from[axis] + (to[axis] - from[axis]) * eased);
        pen.fillStyle = laneColour(lane);
        pen.fillRect(x - 4, y - 4, 8, 8);
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
}

function formulaOf(step) {
  if (!step.formula) return "no formula found for these addresses";
  return step.memory === "shared" ? `byte ${step.formula}` : step.formula;
}

function keepInView(strip, item) {
  const [low, high] = [item.offsetTop, item.offsetTop + item.offsetHeight];
  if (low < strip.scrollTop || high > strip.scrollTop + strip.clientHeight) strip.scrollTop = low - 8;
}

// A labelled select; `chosen(n)` is told the number of the option.
function choice(label, options, chosen, selected = 0) {
  const select = element("select", { onchange: () => chosen(select.selectedIndex) },
    options.map((text, n) => element("option", { selected: n === selected }, text)));
  const node = element("label", { class: "choice" }, element("span", {}, label), select);
  return { node, select: (n) => { select.selectedIndex = n; } };
}

// Buttons that step one or more explorers, and the arrow keys while they are on the page.
class Player {
  constructor(explorers) {
    this.explorers = explorers;
    this.at = 0;
    const button = (label, text, action) => element("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    this.playButton = button("Play", "", () => this.toggle());
    this.drawPlay();
    this.node = element("div", { class: "player", role: "group", "aria-label": "Steps" },
      button("First step", icon("M2 3h2v10H2zM9 3v10L4 8zM14 3v10L9 8z"), () => this.to(0)),
      button("Step back", icon("M13 3v10L6 8zM3 3h2v10H3z"), () => this.to(this.at - 1)),
      this.playButton,
      button("Step forward", icon("M3 3v10l7-5zM11 3h2v10h-2z"), () => this.to(this.at + 1)),
      element("span", { class: "hint" }, element("kbd", {}, "←"), element("kbd", {}, "→"), " step, ", element("kbd", {}, "space"), " plays"));
    for (const explorer of explorers) explorer.node.addEventListener("stepped", (event) => this.to(event.detail, explorer));
  }

  get length() {
    return Math.max(...this.explorers.map((explorer) => explorer.length));
  }

  to(n, origin = null) {
    const forward = n > this.at;
    this.at = Math.max(0, Math.min(n, this.length - 1));
    for (const explorer of this.explorers) {
      const own = Math.min(this.at, explorer.length - 1);
      if (explorer !== origin && own !== explorer.at) explorer.show(own, forward);
    }
  }

  toggle() {
    if (this.timer) return this.stop();
    if (this.at >= this.length - 1) this.to(0);
    this.timer = setInterval(() => {
      this.to(this.at + 1);
      if (this.at >= this.length - 1) this.stop();
    }, PLAY_MS);
    return this.drawPlay();
  }

  drawPlay() {
    const label = this.timer ? "Pause" : "Play";
    this.playButton.replaceChildren(icon(this.timer ? "M4 3h3v10H4zM9 3h3v10H9z" : "M4 2v12l9-6z"), label);
    this.playButton.setAttribute("aria-label", label);
    this.playButton.title = label;
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.drawPlay();
  }

  key(event) {
    const moves = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: this.length - 1 };
    if (event.key in moves) this.to(moves[event.key]);
    else if (event.key === " " && !event.target.closest("button, summary, a")) this.toggle();
    else return;
    event.preventDefault();
  }
}
