"use strict";
// The lessons: claim, picture, evidence, verdict.

const VERDICT_MARKS = { holds: "✓", "holds in counts": "✓", "does not hold here": "✗" };

function lessonsPage() {
  return [
    element(
      "section",
      { class: "intro" },
      element("h1", {}, "Lessons"),
      element(
        "p",
        {},
        "Claims about memory access, each tried on these very kernels. ",
        "A verdict is computed from the evidence, never written down.",
      ),
    ),
    LAB.lessons.length
      ? null
      : element("p", {}, "No lesson is about these kernels alone: make the page with more of them."),
    element("div", { class: "cards" }, LAB.lessons.map(lessonCard)),
  ].filter(Boolean);
}

function lessonCard(lesson) {
  const verdict = lesson.verdict.startsWith("holds")
    ? "valid"
    : lesson.verdict === "does not hold here"
      ? "wrong"
      : "refused";
  const [first, second] = lesson.kernels.map((name) => KERNELS.get(name)).filter((kernel) => kernel.blocks);
  const dearest = first && dearestRequest(first);
  const pictures = lesson.pictured
    ? [first && thumb(first, dearest), second && thumb(second, dearestRequest(second, dearest))].filter(Boolean)
    : [];
  return element(
    "article",
    { class: "card", id: `lesson-${lesson.name}` },
    element(
      "header",
      {},
      element("h2", {}, lesson.name),
      element(
        "span",
        { class: `badge ${verdict}` },
        `${VERDICT_MARKS[lesson.verdict] ?? "–"} ${lesson.verdict}`,
      ),
    ),
    element("p", { class: "lesson" }, lesson.claim),
    pictures.length
      ? [
          element("div", { class: "thumbs" }, pictures),
          element(
            "p",
            { class: "legend" },
            legendKey("lane", "a word that is used, from lane 0 (dark) to lane 31 (light)"),
            legendKey("unused", "moved, and not used"),
          ),
        ]
      : null,
    element(
      "ul",
      { class: "evidence" },
      lesson.evidence.map((fact) => element("li", { class: fact.holds ? "so" : "not-so" }, fact.text)),
    ),
    lesson.reason ? element("p", { class: "quiet-text" }, lesson.reason) : null,
    lesson.kernels.length > 1 && lesson.kernels.slice(0, 2).every((name) => KERNELS.get(name).blocks)
      ? element(
          "p",
          {},
          element("a", { href: `#/compare/${lesson.kernels.slice(0, 2).join("/")}` }, "Watch both"),
        )
      : null,
  );
}

// The request of a kernel's first warp that costs most against its ideal; of several, the one like the other kernel's.
function dearestRequest(kernel, other = null) {
  const requests = stepsOf(kernel, 0, 0).filter((step) => step.picture);
  const cost = ({ picture }) => picture.passes / picture.ideal;
  const most = Math.max(...requests.map(cost));
  const dearest = requests.filter((step) => cost(step) === most);
  return dearest.find((step) => step.kind === other?.kind && step.memory === other?.memory) ?? dearest[0];
}

function thumb(kernel, dearest) {
  const { kind, memory, phase, picture } = dearest;
  const what = memory === "shared" ? `shared ${kind}` : `${phase} ${memory}`;
  const cost = `${what}: ${plural(picture.passes, unitOf(dearest))}, ideal ${picture.ideal}`;
  const caption = element("figcaption", {}, kernelLink(kernel.name), cost);
  return element("figure", { class: "thumb" }, caption, drawRequest(kernel, dearest));
}
