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
  const current = page === "kernel" ? "overview" : page || "overview";
  for (const link of document.querySelectorAll("nav [data-page]"))
    markCurrent(link, link.dataset.page === current, "page");
  document.title = ["cornerturn", page, ...names].filter(Boolean).join(" · ");
}

function drawTheme() {
  document.getElementById("theme").textContent = theme() === "dark" ? "☀" : "☾";
}

// The page anew, at the same step.
function redraw() {
  const step = live.player?.at;
  route();
  live.player?.to(step);
}

function changeTheme(name) {
  document.documentElement.dataset.theme = name;
  drawTheme();
  redraw();
}

document.getElementById("theme").addEventListener("click", () => {
  changeTheme(theme() === "dark" ? "light" : "dark");
});
DARK.addEventListener("change", () => changeTheme(DARK.matches ? "dark" : "light"));
NARROW.addEventListener("change", redraw);

// Not by its address, which names the page that is shown.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

document.addEventListener("keydown", (event) => {
  if (!live.player || event.altKey || event.ctrlKey || event.metaKey) return;
  if (!event.target.closest("input, select, textarea")) live.player.key(event);
});

window.addEventListener("hashchange", () => {
  route();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
drawTheme();
route();
