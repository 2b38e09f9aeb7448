"use strict";
// All kernels at a glance: what each moves for what it uses, how long it takes where that was measured, and its counts.

const PLACES = ["global load", "global store", "shared load", "shared store"];

// One column: its heading, the value that it sorts by, and its cell.
function columnsOf(measured) {
  const times = new Map(measured?.times.map((time) => [time.kernel, time]));
  const moved = (kernel) => kernel.result.moved && Math.max(...kernel.result.moved);
  const most = Math.max(2, ...LAB.kernels.map((kernel) => moved(kernel) ?? 0));
  const longest = Math.max(...[...times.values()].map((time) => time.seconds), 0);
  return [
    { name: "kernel", value: (kernel) => kernel.name, cell: nameCell, text: true },
    {
      name: "bytes moved per byte used",
      value: (kernel) => sum(kernel.result.moved),
      cell: (kernel) => movedCell(kernel, most),
    },
    measured && {
      name: "time",
      value: (kernel) => times.get(kernel.name)?.seconds,
      cell: (kernel) => timeCell(times.get(kernel.name), longest, measured),
    },
    ...PLACES.map((place, n) => ({
      name: place,
      value: (kernel) => costOfPlace(kernel, n),
      cell: (kernel) => placeCell(kernel, n),
      number: true,
    })),
    {
      name: "instr. / element",
      value: (kernel) => kernel.result.perElement,
      cell: (kernel) => numberCell(kernel.result.perElement),
      number: true,
    },
    {
      name: "result",
      value: (kernel) => kernel.result.status,
      cell: (kernel) => element("td", {}, statusBadge(kernel.result)),
      text: true,
    },
  ].filter(Boolean);
}

function sum(numbers) {
  return numbers?.reduce((total, each) => total + each, 0);
}

function costOfPlace(kernel, n) {
  const place = kernel.result.places?.[n];
  return place?.requests ? place.found / place.requests : undefined;
}

function nameCell(kernel) {
  const name = kernel.blocks ? kernelLink(kernel.name) : element("span", { class: "code" }, kernel.name);
  return element("th", { scope: "row", title: kernel.lesson }, name, element("small", {}, kernel.family));
}

// Two bars, what is read and what is written for each byte of the matrix; the mark is the ideal, 1.
function movedCell(kernel, most) {
  const { moved } = kernel.result;
  if (!moved) return element("td", { class: "quiet-text" }, kernel.result.refused ?? "");
  const label = `reads ${number(moved[0])} bytes and writes ${number(moved[1])} for each byte of the matrix`;
  return element(
    "td",
    { class: "bars", title: label },
    moved.map((each, n) =>
      element(
        "div",
        { class: "bar-row" },
        element("span", { class: "bar-name", "aria-hidden": "true" }, n ? "write" : "read"),
        element(
          "span",
          { class: "bar-track", style: { "--ideal": `${100 / most}%` } },
          element("span", { class: "bar-used", style: { width: `${(100 * Math.min(each, 1)) / most}%` } }),
          element("span", {
            class: "bar-wasted",
            style: { width: `${(100 * Math.max(each - 1, 0)) / most}%` },
          }),
        ),
        element("span", { class: "bar-number" }, number(each)),
      ),
    ),
  );
}

function timeCell(time, longest, measured) {
  if (!time) return element("td", { class: "quiet-text" }, "not measured");
  const roof = time.seconds * time.roof_share;
  return element(
    "td",
    {
      class: "bars",
      title: `${number(time.gbps)} GB/s on ${measured.device}; the mark is a copy, ${microseconds(roof)}`,
    },
    element(
      "div",
      { class: "bar-row" },
      element(
        "span",
        { class: "bar-track", style: { "--ideal": `${(100 * roof) / longest}%` } },
        element("span", {
          class: "bar-used",
          style: { width: `${(100 * Math.min(time.seconds, roof)) / longest}%` },
        }),
        element("span", {
          class: "bar-wasted",
          style: { width: `${(100 * Math.max(time.seconds - roof, 0)) / longest}%` },
        }),
      ),
      element("span", { class: "bar-number wide-number" }, microseconds(time.seconds)),
    ),
    element(
      "small",
      {},
      `${Math.round(100 * time.roof_share)}% of the copy roof${time.valid ? "" : ", wrong output"}`,
    ),
  );
}

function placeCell(kernel, n) {
  const place = kernel.result.places?.[n];
  if (!place) return element("td", { class: "number" });
  if (!place.requests) return element("td", { class: "number quiet-text" }, "–");
  const unit = n < 2 ? "sectors" : "wavefronts";
  return element(
    "td",
    {
      class: `number ${place.found > place.ideal ? "wasted" : "ideal"}`,
      title: `${whole(place.requests)} requests, ${whole(place.found)} ${unit}, ideal ${whole(place.ideal)}`,
      "data-place": place.place,
      "data-requests": place.requests,
      "data-found": place.found,
      "data-ideal": place.ideal,
    },
    perRequest(place.requests, place.found, place.ideal),
  );
}

function numberCell(value) {
  return element("td", { class: "number" }, value === undefined ? "" : number(value));
}

// What the kernels do to the matrix: a copy does not turn it, and a view moves nothing.
function whatRan() {
  const turning = LAB.kernels.filter((kernel) => kernel.blocks && kernel.family !== "controls").length;
  const sizes = [...new Set(LAB.kernels.map((kernel) => kernel.elementBytes).filter(Boolean))].sort((a, b) => a - b);
  const elements = sizes.length > 1 ? `elements of ${sizes.join(", ")} bytes` : `${sizes[0] ?? 4}-byte elements`;
  const matrix = `${LAB.rows} x ${LAB.cols} matrix of ${elements}`;
  const controls = [
    KERNELS.has("copy") && "copy moves it as it is",
    KERNELS.has("view") && "view moves nothing",
  ].filter(Boolean);
  const turned = `${plural(turning, "kernel")} ${turning === 1 ? "turns" : "turn"} the same ${matrix}`;
  return `${[turned, ...controls].join("; ")}.`;
}

const overviewState = { sort: null, descending: false, text: "", family: "", measured: 0 };

function overviewPage() {
  const state = overviewState;
  const families = [...new Set(LAB.kernels.map((kernel) => kernel.family))];
  const table = element("table", { class: "overview" });
  const tally = element("p", { class: "quiet-text", role: "status" });

  function draw() {
    const columns = columnsOf(LAB.measured[state.measured]);
    const wanted = state.text.toLowerCase();
    const shown = LAB.kernels.filter(
      (kernel) =>
        (!state.family || kernel.family === state.family) &&
        (kernel.name.toLowerCase().includes(wanted) || kernel.lesson.toLowerCase().includes(wanted)),
    );
    const sorted = sortedBy(
      shown,
      columns.find((column) => column.name === state.sort),
      state.descending,
    );
    const head = columns.map((column) =>
      element(
        "th",
        {
          scope: "col",
          class: column.number ? "number" : null,
          "aria-sort": column.name === state.sort ? (state.descending ? "descending" : "ascending") : null,
        },
        element(
          "button",
          { type: "button", "data-sort": column.name, onclick: () => sortBy(column) },
          column.name,
        ),
      ),
    );
    table.replaceChildren(
      element("thead", {}, element("tr", {}, head)),
      element(
        "tbody",
        {},
        sorted.map((kernel) =>
          element(
            "tr",
            { "data-kernel": kernel.name },
            columns.map((column) => column.cell(kernel)),
          ),
        ),
      ),
    );
    tally.textContent =
      shown.length === LAB.kernels.length
        ? plural(shown.length, "kernel")
        : `${shown.length} of ${plural(LAB.kernels.length, "kernel")}`;
  }

  // A first click sorts what costs most to the top, names from a to z; a third gives the catalogue's order back.
  function sortBy(column) {
    const first = !column.text;
    if (state.sort !== column.name) Object.assign(state, { sort: column.name, descending: first });
    else if (state.descending === first) state.descending = !first;
    else state.sort = null;
    draw();
    table.querySelector(`[data-sort="${column.name}"]`).focus();
  }

  const search = element("input", {
    type: "search",
    id: "filter",
    placeholder: "name or lesson",
    value: state.text,
    oninput: () => {
      state.text = search.value;
      draw();
    },
  });
  const family = choice(
    "Family",
    ["all", ...families],
    (n) => {
      state.family = n ? families[n - 1] : "";
      draw();
    },
    families.indexOf(state.family) + 1,
  );
  const times = LAB.measured.length
    ? choice(
        "Times",
        LAB.measured.map((each) => `${each.device}, ${each.rows} x ${each.cols} (${each.label})`),
        (n) => {
          state.measured = n;
          draw();
        },
        state.measured,
      )
    : null;
  draw();
  return [
    element(
      "section",
      { class: "intro" },
      element("h1", {}, "A matrix transpose computes nothing. It is memory access, and nothing else."),
      element(
        "p",
        {},
        `${whatRan()} Of each kernel that ran on the emulator (PTX for ${LAB.arch}) every bit was checked, and every `,
        "access was counted as the hardware counts it. Choose one to watch one of its warps at work.",
      ),
    ),
    element(
      "div",
      { class: "controls" },
      element("label", { class: "choice" }, element("span", {}, "Filter"), search),
      family.node,
      times?.node,
    ),
    tally,
    element(
      "p",
      { class: "legend" },
      legendKey("bar-used", "used"),
      legendKey("bar-wasted", "moved beside it, for nothing, or time beyond a copy's"),
      legendKey("tick", "the ideal"),
      element(
        "span",
        { class: "note" },
        "The four middle columns are found/ideal per request: 32-byte sectors of global memory, ",
        "wavefronts of shared memory.",
      ),
    ),
    ...sideways(
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Kernels" }, table),
    ),
  ];
}

function sortedBy(kernels, column, descending) {
  if (!column) return kernels;
  const known = kernels.filter((kernel) => column.value(kernel) !== undefined);
  const ordered = known.sort((a, b) =>
    column.value(a) < column.value(b) ? -1 : column.value(a) > column.value(b) ? 1 : 0,
  );
  if (descending) ordered.reverse();
  return [...ordered, ...kernels.filter((kernel) => column.value(kernel) === undefined)];
}
