// Sorts a table by a click on a heading, and shows the values of a chart under the pointer, a finger or the arrow
// keys. Without it the page reads the same, and a browser shows the values by itself after a moment.
"use strict";

function sortable(table) {
  const body = table.tBodies[0], original = [...body.rows];
  const heads = table.tHead ? [...table.tHead.rows[0].cells] : [];
  if (original.length < 2) return;
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const way = { ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")] ?? "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      if (way !== "none") head.setAttribute("aria-sort", way);
      body.append(...(way === "none" ? original : ordered(original, column, way === "ascending" ? 1 : -1)));
    });
  });
}

// Missing values stay last both ways; equal rows keep their order.
function ordered(rows, column, sign) {
  const texts = rows.map(row => row.cells[column].dataset.value ?? row.cells[column].textContent.trim());
  const known = texts.map(text => text !== "-" && text !== "");
  const numbers = texts.map(text => Number(text.replaceAll(",", "")));
  const numeric = numbers.every((value, i) => !known[i] || !Number.isNaN(value));
  const compare = (a, b) => numeric ? numbers[a] - numbers[b]
    : texts[a].localeCompare(texts[b], "en", { numeric: true });
  return [...rows.keys()]
    .sort((a, b) => known[b] - known[a] || (known[a] ? sign * compare(a, b) : 0))
    .map(i => rows[i]);
}

function hinted(svg, tip) {
  const marks = [...svg.querySelectorAll(".hints rect")];
  if (!marks.length) return;
  const texts = new Map(marks.map(mark => [mark, mark.firstElementChild.textContent]));
  let at = -1;
  const show = mark => {
    marks[at]?.classList.remove("at");
    at = marks.indexOf(mark);
    tip.textContent = mark ? texts.get(mark) : "";
    if (!mark) return;
    mark.classList.add("at");
    const box = mark.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(box.left + box.width / 2 + 8, document.documentElement.clientWidth - own.width - 4);
    const above = box.top - own.height - 6;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${above > 4 ? above : Math.min(box.bottom + 6, innerHeight - own.height - 4)}px`;
  };
  marks.forEach(mark => mark.firstElementChild.remove());  // or the browser shows its own too
  svg.tabIndex = 0;
  svg.addEventListener("pointerover", event => show(event.target.closest(".hints rect")));
  svg.addEventListener("pointerleave", () => show());
  svg.addEventListener("blur", () => show());
  svg.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") show();
    if (!step) return;
    event.preventDefault();
    show(marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length]);
  });
}

document.querySelectorAll("table").forEach(sortable);
const tip = document.createElement("div");
tip.className = "tip";
tip.role = "status";
document.body.append(tip);
document.querySelectorAll("svg").forEach(svg => hinted(svg, tip));
