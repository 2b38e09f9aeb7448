"use strict";
// What all pages are made of: elements, numbers, colours.

const LAB = JSON.parse(document.getElementById("data").textContent);
const KERNELS = new Map(LAB.kernels.map((kernel) => [kernel.name, kernel]));
const WARP = 32;
const DARK = matchMedia("(prefers-color-scheme: dark)");
const NARROW = matchMedia("(max-width: 960px)"); // as in the style
document.documentElement.dataset.theme = DARK.matches ? "dark" : "light";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style")
      for (const [key, setting] of Object.entries(value)) made.style.setProperty(key, setting);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

// At most two decimals below 10, one below 100, none that are zero.
function number(value) {
  const digits = value < 10 ? 2 : value < 100 ? 1 : 0;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

function whole(value) {
  return value.toLocaleString("en");
}

function plural(count, noun) {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}

function microseconds(seconds) {
  return `${number(seconds * 1e6)} µs`;
}

// 32 colours from blue over green to yellow, each lighter than the one before: no red against green, and in order
// for any eye.
const RAMP = {
  light: [
    [38, 70, 140],
    [31, 120, 158],
    [52, 160, 140],
    [138, 193, 86],
    [245, 212, 60],
  ],
  dark: [
    [84, 128, 214],
    [66, 165, 200],
    [84, 196, 160],
    [170, 216, 104],
    [250, 224, 92],
  ],
};

function laneColour(lane) {
  const stops = RAMP[theme()];
  const at = (lane / (WARP - 1)) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const mixed = stops[low].map((part, n) => Math.round(part + (stops[low + 1][n] - part) * (at - low)));
  return `rgb(${mixed.join(",")})`;
}

// Dark ink on the light half of the ramp.
function laneInk(lane) {
  return lane >= (theme() === "dark" ? 0 : 13) ? "#10151c" : "#ffffff";
}

// "light" or "dark".
function theme() {
  return document.documentElement.dataset.theme;
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function markCurrent(node, current, kind) {
  if (current) node.setAttribute("aria-current", kind);
  else node.removeAttribute("aria-current");
}

function kernelLink(name) {
  return element("a", { href: `#/kernel/${name}`, class: "code" }, breakable(name));
}

// A name that may be broken after its underscores, and nowhere else.
function breakable(name) {
  return name.split(/(?<=_)/).flatMap((part) => [part, element("wbr")]);
}

// One sign of a legend and what it means.
function legendKey(sign, meaning) {
  return element("span", { class: "key" }, element("i", { class: sign }), meaning);
}

// A drawn sign for a button: a path in a square of 16.
function icon(path) {
  const drawn = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  drawn.setAttribute("viewBox", "0 0 16 16");
  drawn.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  drawn.append(line);
  return drawn;
}

// Sentences begin with a capital, names of kernels do not.
function sentence(text) {
  return KERNELS.has(text.split(/\W/)[0]) ? text : text.charAt(0).toUpperCase() + text.slice(1);
}

const STATUS_MARKS = { valid: "✓", wrong: "✗", failed: "✗" };

function statusBadge(result) {
  const mark = STATUS_MARKS[result.status] ?? "–";
  const why = result.faults.join("\n") || result.refused;
  return element(
    "span",
    { class: `badge ${result.status.replaceAll(" ", "-")}`, title: why },
    `${mark} ${result.status}`,
  );
}

// found/ideal of one request on average, as the bench table has it.
function perRequest(requests, found, ideal) {
  return `${number(found / requests)}/${number(ideal / requests)}`;
}

// A labelled select; `chosen(n)` is told the number of the option.
function choice(label, options, chosen, selected = 0) {
  const select = element(
    "select",
    { onchange: () => chosen(select.selectedIndex) },
    options.map((text, n) => element("option", { selected: n === selected }, text)),
  );
  const node = element("label", { class: "choice" }, element("span", {}, label), select);
  return {
    node,
    select: (n) => {
      select.selectedIndex = n;
    },
  };
}

// A region that may be wider than its place, and before it a line that says so when it is.
function sideways(region) {
  const hint = element("p", { class: "quiet-text sideways" }, "The table goes on to the right: scroll it sideways →");
  const update = () => {
    hint.hidden = region.scrollWidth <= region.clientWidth;
    region.classList.toggle("more", region.scrollLeft + region.clientWidth < region.scrollWidth - 1);
  };
  region.addEventListener("scroll", update);
  new ResizeObserver(() => requestAnimationFrame(update)).observe(region);
  return [hint, region];
}

// Scroll a strip so that one of its items is seen; the page itself stays where it is.
function keepInView(strip, item) {
  const [low, high] = [item.offsetTop, item.offsetTop + item.offsetHeight];
  if (low < strip.scrollTop || high > strip.scrollTop + strip.clientHeight) strip.scrollTop = low - 8;
}
