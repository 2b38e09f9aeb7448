"use strict";
// Which page is shown, the keys that step it, and the theme.

const main = document.getElementById("main");
const live = { player: null }; // what of the shown page must be stopped or told of keys

function route() {
  live.player?.stop();
  live.player = null;
  const [page, ...names] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const pages = {
    "": () => overviewPage(),
    kernel: () => kernelPage(names[0], live),
    lessons: () => lessonsPage(),
    compare: () => comparePage(names[0], names[1], live),
  };
  main.replaceChildren(...(pages[page] ?? pages[""])());
  main.dataset.page = page || "overview";
  const current = page === "kernel" ? "overview" : page || "overview";
  for (const link of document.querySelectorAll("nav [data-page]")) link.toggleAttribute("aria-current", link.dataset.page === current);
  document.title = ["cornerturn", page, ...names].filter(Boolean).join(" · ");
}

function drawTheme() {
  document.getElementById("theme").textContent = theme() === "dark" ? "☀" : "☾";
}

document.getElementById("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
  redraw();
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// The page in the other colours, at the same step.
function redraw() {
  const step = live.player?.at;
  drawTheme();
  route();
  live.player?.to(step);
}

document.addEventListener("keydown", (event) => {
  if (!live.player || event.altKey || event.ctrlKey || event.metaKey) return;
  if (!event.target.closest("input, select, textarea")) live.player.key(event);
});

window.addEventListener("hashchange", () => { route(); main.focus({ preventScroll: true }); scrollTo(0, 0); });
drawTheme();
route();
