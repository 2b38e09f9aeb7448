"use strict";
// The access explorer: one warp of one block, stepped through; whatever lane is pointed at is followed everywhere.

const SHARED_COLUMNS = 32; // banks

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
    this.grids = {
      x: new Grid("elements of x that the warp touches"),
      y: new Grid("elements of y that the warp touches"),
    };
    if (kernel.instructions.some((each) => each.memory === "shared")) {
      this.grids.shared = new Grid("shared memory: a column is a bank, a row is 128 bytes");
      this.grids.shared.figure.classList.add("of-shared");
    }
    this.blockChoice = choice(
      "Block",
      kernel.blocks.map(({ at }) => at.join(",")),
      (n) => this.chooseInPair(n, this.warp),
    );
    this.warpChoice = choice(
      "Warp",
      kernel.blocks[0].warps.map((_, n) => `${n}`),
      (n) => this.chooseInPair(this.block, n),
    );
    this.laneChoice = choice("Follow lane", ["none", ...Array(WARP).keys()].map(String), (n) =>
      this.keep(n ? n - 1 : null),
    );
    this.timeline = element("ol", { class: "timeline", "aria-label": "Steps of the warp" });
    this.now = element("div", { class: "now", "aria-live": "polite" });
    this.registers = element(
      "div",
      { class: "registers" },
      Array.from({ length: WARP }, (_, lane) =>
        element("i", { class: "lane", "data-lane": lane }, `${lane}`),
      ),
    );
    this.flights = element("canvas", { class: "flights", "aria-hidden": "true" });
    this.stage = element(
      "div",
      { class: "stage" },
      element("div", { class: "grids" }, this.grids.x.figure, this.grids.shared?.figure, this.grids.y.figure),
      element(
        "figure",
        { class: "grid wide" },
        element("figcaption", {}, "registers, one lane each"),
        this.registers,
      ),
      this.flights,
      element(
        "p",
        { class: "legend" },
        legendKey("lane", "at work now"),
        legendKey("pale", "in a step before"),
        this.grids.shared ? legendKey("others", "stored by other warps") : null,
        legendKey("untouched", "not yet"),
      ),
    );
    this.hardware = element("div", { class: "hardware" });
    this.way = element("div", { class: "way" });
    this.table = element(
      "details",
      { class: "lanes", ontoggle: () => this.drawTable() },
      element("summary", {}, "All lanes as a table"),
    );
    this.node = element(
      "section",
      { class: "explorer", "aria-label": `Access explorer of ${kernel.name}` },
      element(
        "div",
        { class: "controls" },
        this.blockChoice.node,
        this.warpChoice.node,
        this.laneChoice.node,
      ),
      this.timeline,
      this.now,
      this.stage,
      this.hardware,
      this.way,
      this.table,
    );
    this.parts = [this.node, this.hardware]; // a page may put the hardware's view elsewhere
    for (const part of this.parts) {
      part.addEventListener("pointerover", (event) => this.pointed(event.target));
      part.addEventListener("pointerdown", (event) => this.pinTarget(event.target));
      part.addEventListener("pointerleave", () => this.follow(null));
    }
    for (const [memory, grid] of Object.entries(this.grids)) {
      grid.canvas.addEventListener("pointermove", (event) =>
        this.follow(this.laneAt(memory, grid.cellAt(event))),
      );
      grid.canvas.addEventListener("pointerdown", (event) =>
        this.pin(this.laneAt(memory, grid.cellAt(event))),
      );
    }
    new ResizeObserver(() => requestAnimationFrame(() => this.resize())).observe(this.stage);
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
    // As high as the tallest picture of these steps, so that stepping moves nothing else on the page.
    const rows = Math.max(1, ...this.steps.map((step) => step.picture?.rows.length ?? 0));
    this.hardware.style.setProperty("--height", `calc(${rows} * ${rows > DENSE ? "(0.74rem + 1px)" : "(1.25rem + 2px)"})`);
    this.layout();
    this.show(this.at, false);
  }

  chip(step, n) {
    const wasted = step.picture && step.picture.passes > step.picture.ideal;
    const cost = step.picture ? costOf(step) : "";
    return element(
      "li",
      {},
      element(
        "button",
        {
          type: "button",
          class: `chip phase-${step.phase}${wasted ? " wasted" : ""}`,
          title: `line ${step.line}: ${step.phase} ${cost}`,
          "data-step": n,
          onclick: () => this.stepTo(n),
        },
        step.phase,
      ),
    );
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
      markCurrent(button, own, "step");
      if (own) keepInView(this.timeline, button);
    }
    if (!step) {
      this.now.replaceChildren("This warp touches no memory: it is outside the matrix.");
      this.hardware.replaceChildren();
      this.draw();
      return;
    }
    this.marked(step.line);
    this.now.replaceChildren(...nowView(step, this.at, this.steps.length));
    this.hardware.replaceChildren(...hardwareView(this.kernel, step));
    this.draw();
    if (flying && step.lanes) this.fly(step);
  }

  // A layout changes the height of the stage, and only another width asks for another layout.
  resize() {
    if (this.stage.clientWidth !== this.width) this.layout();
  }

  layout() {
    const width = (this.width = this.stage.clientWidth);
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
      this.grids[memory].title.textContent =
        `${memory}[${top}..${top + rows - 1}, ${left}..${left + cols - 1}]`;
    }
    if (this.grids.shared) {
      const words = this.kernel.blocks[this.block].warps
        .flatMap((_, warp) => stepsOf(this.kernel, this.block, warp))
        .filter((step) => step.memory === "shared")
        .map((step) => (Math.max(...step.offsets) + step.width) / 4);
      this.sharedRows = Math.max(MARGIN, Math.ceil(Math.max(...words) / SHARED_COLUMNS));
      this.grids.shared.layout(
        this.sharedRows,
        SHARED_COLUMNS,
        columns < count ? width : room,
        Math.max(260, room),
      );
      this.grids.shared.title.textContent = "shared: a column is a bank";
    }
    this.draw();
  }

  // Cells of a grid that lane number n of a request touches.
  cells(request, n) {
    const size = request.memory === "shared" ? 4 : this.kernel.elementBytes;
    return Array.from({ length: Math.max(1, request.width / size) }, (_, cell) => {
      const offset = request.offsets[n] + size * cell;
      if (request.memory === "shared") return [Math.floor(offset / 128), (offset >> 2) % SHARED_COLUMNS];
      const [row, col] = elementAt(this.kernel, request.memory, offset);
      const { top, left } = this.windows[request.memory];
      return [row - top, col - left];
    });
  }

  draw() {
    if (!this.windows) return;
    const [paper, rule, ink] = [colour("paper"), colour("rule"), colour("ink")];
    const current = this.steps[this.at] ?? {}; // a warp outside of the matrix has no steps
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
          step.lanes.forEach((_, n) =>
            this.cells(step, n).forEach(([row, col]) => grid.fill(row, col, tint)),
          );
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
    this.way.replaceChildren(...wayView(this.kernel, this.steps, this.at, this.warp, lane));
  }

  drawTable() {
    if (!this.table.open) return;
    this.table.querySelector(".scroll")?.remove();
    const step = this.steps[this.at];
    if (step?.lanes) this.table.append(lanesTable(this.kernel, step, this.warp));
  }

  // The lanes' elements fly between memory and registers.
  fly(request) {
    if (!this.windows || !this.grids[request.memory]) return;
    if (request.asynchronous && request.kind === "load") return; // its elements fly when they arrive
    const inMemory = (step, n) => this.grids[step.memory].middle(...this.cells(step, n)[0]);
    const before = this.steps[this.at - 1];
    const paths = request.lanes.map((lane, n) => {
      const other = request.asynchronous ? inMemory(before, n) : middleOf(this.registers.children[lane]);
      const ends = [inMemory(request, n), other];
      return [lane, ...(request.kind === "load" ? ends : ends.reverse())];
    });
    fly(this.flights, paths);
  }
}
