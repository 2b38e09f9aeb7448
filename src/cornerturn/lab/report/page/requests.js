"use strict";
// Steps of a warp, read out of the record: which lanes move which elements from where to where.

const BARRIER = -1;
const PHASES = {
  "load x": ["read", "reads", "x to registers"],
  "store shared": ["stage", "stores", "registers to shared memory"],
  "load shared": ["take", "takes", "shared memory to registers"],
  "store y": ["write", "writes", "registers to y"],
};

// The steps of one warp. A barrier has only `line`; a request has its lanes and, for each of them, its byte offset,
// the flat indices of the elements of x that it moves, and who stored them in shared memory.
function stepsOf(kernel, block, warp) {
  return kernel.blocks[block].warps[warp].map((step) =>
    step[0] === BARRIER ? barrierOf(step) : requestOf(kernel, step),
  );
}

function barrierOf([, line]) {
  return { phase: "barrier", line };
}

// An asynchronous copy is one instruction that loads and stores: its elements pass the registers by.
function requestOf(kernel, step) {
  const [at, drawn, base, formula, values, firstValue, writers, firstWriter] = step;
  const instruction = kernel.instructions[at];
  const picture = kernel.pictures[drawn];
  const key = `${instruction.kind} ${instruction.memory}`;
  return {
    ...instruction,
    asynchronous: kernel.instructions.some(
      (other) => other !== instruction && other.position === instruction.position,
    ),
    phase: PHASES[key]?.[0] ?? instruction.kind,
    picture,
    base,
    formula: kernel.formulas[formula],
    lanes: picture.lanes,
    offsets: kernel.series[picture.offsets].map((offset) => base + offset),
    values: perLane(kernel.series[values], firstValue, picture.lanes.length),
    writers:
      writers === undefined ? null : perLane(kernel.series[writers], firstWriter, picture.lanes.length),
  };
}

function perLane(series, first, lanes) {
  const each = series.length / lanes;
  return Array.from({ length: lanes }, (_, n) =>
    series.slice(n * each, (n + 1) * each).map((value) => first + value),
  );
}

// Row and column of the element of x or y at a byte offset.
function elementAt(kernel, memory, offset) {
  const index = Math.floor(offset / kernel.elementBytes);
  return [Math.floor(index / kernel.pitch[memory]), index % kernel.pitch[memory]];
}

// Words for a place: y[3, 0..3], or the byte of shared memory and its bank, or the byte of a variable.
function placeName(kernel, request, offset) {
  if (request.memory === "shared") return `shared +${offset}, bank ${(offset >> 2) % 32}`;
  if (!(request.memory in kernel.pitch)) return `${request.memory} +${offset}`;
  const [row, col] = elementAt(kernel, request.memory, offset);
  const count = request.width / kernel.elementBytes;
  return `${request.memory}[${row}, ${col}${count > 1 ? `..${col + count - 1}` : ""}]`;
}

// Negative numbers mark what is not an element of x, such as an address.
function valueNames(kernel, moved) {
  const values = moved.filter((index) => index >= 0);
  if (!values.length) return "no element of x";
  if (values.length < moved.length)
    return `${valueNames(kernel, values)} and ${moved.length - values.length} that are none`;
  const places = values.map((index) => [Math.floor(index / kernel.pitch.x), index % kernel.pitch.x]);
  const [[row, col]] = places;
  if (places.length > 1 && places.every(([r, c], n) => r === row && c === col + n)) {
    return `x[${row}, ${col}..${col + places.length - 1}]`;
  }
  if (places.length > 1 && places.every(([r, c], n) => r === row + n && c === col)) {
    return `x[${row}..${row + places.length - 1}, ${col}]`;
  }
  return places.map(([r, c]) => `x[${r}, ${c}]`).join(" ");
}

function threadName(kernel, thread) {
  const [width, height] = kernel.launch.block;
  return `${thread % width},${Math.floor(thread / width) % height}`;
}

function unitOf(request) {
  return request.memory === "shared" ? "wavefront" : "sector";
}

// What one request costs, as a sentence.
function costOf(request) {
  const { passes, ideal, rows } = request.picture;
  const lines = request.memory === "shared" ? "" : ` in ${plural(rows.length, "line")}`;
  return `${plural(passes, unitOf(request))}${lines}, ideal ${whole(ideal)}`;
}

function titleOf(request) {
  if (request.phase === "barrier") return "barrier: every thread of the block waits for all others";
  const [, , usual] = PHASES[`${request.kind} ${request.memory}`] ?? [
    "",
    "",
    `${request.kind} ${request.memory}`,
  ];
  const way = request.asynchronous ? "x to shared memory, past the registers" : usual;
  return `${request.phase}: ${plural(request.lanes.length, "lane")}, ${request.width} bytes each, ${way}`;
}

// The way of one lane's thread: every step it takes part in.
function wayOf(kernel, steps, lane) {
  return steps.flatMap((request, number) => {
    const at = request.phase === "barrier" ? -1 : request.lanes.indexOf(lane);
    if (at < 0) return [];
    const place = placeName(kernel, request, request.offsets[at]);
    const what = valueNames(kernel, request.values[at]);
    const from =
      request.writers && [...new Set(request.writers[at])].map((thread) => threadName(kernel, thread));
    return [
      {
        number,
        line: request.line,
        verb: PHASES[`${request.kind} ${request.memory}`]?.[1] ?? request.kind,
        text:
          request.memory === "x"
            ? place
            : request.kind === "load"
              ? `${what} from ${place}`
              : `${what} to ${place}`,
        from: from ? `stored there by thread ${from.join(" ")}` : "",
      },
    ];
  });
}
