"use strict";
(function () {
  const svg = document.documentElement;
  const inside = 118000, margin = 10, character = 6.4;
  const boxes = Array.from(document.querySelectorAll("g.b"));
  const pauses = Array.from(document.querySelectorAll("line.pause"));
  const said = document.getElementById("said");
  const reset = document.getElementById("reset");
  const hint = said.textContent;
  const label = (box) => box.querySelector("title").textContent.split("\n")[0];

  function zoom(left, width) {
    for (const box of boxes) {
      const l = (box.dataset.l - left) * inside / width / 100;
      const w = box.dataset.w * inside / width / 100;
      const from = Math.max(l, 0), to = Math.min(l + w, inside / 100);
      box.style.display = to - from > 0.05 ? "" : "none";
      if (to - from <= 0.05) continue;
      const rect = box.querySelector("rect");
      rect.setAttribute("x", from + margin);
      rect.setAttribute("width", Math.max(to - from, 0.1));
      write(box, from + margin, to - from);
    }
    for (const pause of pauses) {
      const x = (pause.dataset.l - left) * inside / width / 100 + margin;
      pause.setAttribute("x1", x);
      pause.setAttribute("x2", x);
      pause.style.display = x >= margin && x <= inside / 100 + margin ? "" : "none";
    }
    reset.setAttribute("visibility", width < inside ? "visible" : "hidden");
  }

  function write(box, left, width) {
    const words = Array.from(label(box));
    const room = Math.floor((width - 6) / character);
    let text = box.querySelector("text");
    if (room < 3) { if (text) text.textContent = ""; return; }
    if (!text) {
      text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      text.setAttribute("y", Number(box.querySelector("rect").getAttribute("y")) + 13);
      box.appendChild(text);
    }
    text.setAttribute("x", left + 3);
    let used = 0;
    const end = words.findIndex((letter) => (used += columns(letter)) > room - 1);
    const whole = words.reduce((sum, letter) => sum + columns(letter), 0) <= room;
    text.textContent = whole ? words.join("") : words.slice(0, end).join("") + "…";
  }

  // Letters of East Asian scripts and pictographs are as wide as two others.
  function columns(letter) { return /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u.test(letter) ? 2 : 1; }

  function all() { zoom(0, inside); }

  function search(words) {
    const wanted = words.trim().toLowerCase();
    let found = 0;
    for (const box of boxes) {
      const hit = wanted !== "" && label(box).toLowerCase().includes(wanted);
      box.classList.toggle("found", hit);
      box.classList.toggle("unfound", wanted !== "" && !hit);
      found += hit ? 1 : 0;
    }
    said.textContent = wanted === "" ? hint : found + " found";
  }

  function ask() {
    const words = window.prompt("Search for a title", "");
    if (words !== null) search(words);
  }

  svg.addEventListener("click", (event) => {
    const box = event.target.closest ? event.target.closest("g.b") : null;
    if (box) zoom(Number(box.dataset.l), Math.max(Number(box.dataset.w), 1));
  });
  for (const [id, act] of [["search", ask], ["reset", all]]) {
    const button = document.getElementById(id);
    button.addEventListener("click", act);
    button.addEventListener("keydown", (event) => { if (event.key === "Enter") act(); });
  }
  window.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { all(); search(""); }
    if (event.key === "/") { event.preventDefault(); ask(); }
  });
  const asked = new URLSearchParams(window.location.search).get("q");
  if (asked) search(asked);
})();
