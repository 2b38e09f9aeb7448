"use strict";
// The steps of one or more explorers, by buttons, keys or the clock.

const PLAY_MS = 1500;

class Player {
  constructor(explorers) {
    this.explorers = explorers;
    this.at = 0;
    const button = (label, text, action) =>
      element("button", { type: "button", "aria-label": label, title: label, onclick: action }, text);
    this.playButton = button("Play", "", () => this.toggle());
    this.drawPlay();
    this.node = element(
      "div",
      { class: "player", role: "group", "aria-label": "Steps" },
      button("First step", icon("M2 3h2v10H2zM9 3v10L4 8zM14 3v10L9 8z"), () => this.to(0)),
      button("Step back", icon("M13 3v10L6 8zM3 3h2v10H3z"), () => this.to(this.at - 1)),
      this.playButton,
      button("Step forward", icon("M3 3v10l7-5zM11 3h2v10h-2z"), () => this.to(this.at + 1)),
      element(
        "span",
        { class: "hint" },
        element("kbd", {}, "←"),
        element("kbd", {}, "→"),
        " step, ",
        element("kbd", {}, "space"),
        " plays",
      ),
    );
    for (const explorer of explorers)
      explorer.node.addEventListener("stepped", (event) => this.to(event.detail, explorer));
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
