// The page of results: time, the fabric's moment, and its keys.
import { $, fields, fill, open, put } from "./shell.js";

const end = Number($("at").dataset.end);
const show = (channel) => {
  const own = fields(channel.shown);
  $("run").value = own.get("run") || $("run").options[0].value;
  if ($("beside")) $("beside").value = own.get("beside") || "";
  $("second").hidden = !own.get("beside");
  $("by").value = own.get("by") || "slowdown";
  fill("cable", own.get("cable"));
  fill("job", own.get("job"));
  $("at").value = own.has("at") ? (1000 * Number(own.get("at"))) / end : 0;
};
const moving = ["from", "to", "low", "high", "at"];
const { doc, channel, change, ask, listen } = await open({ moving, show });
const ranges = { time: doc.get_model_by_name("time"), nodes: doc.get_model_by_name("nodes") };
channel.properties.key.change.connect(() => put($("key"), channel.key));
for (const id of ["run", "beside", "by"]) {
  if ($(id)) $(id).addEventListener("change", () => change({ [id]: $(id).value }));
}
$("whole").addEventListener("click", () => change({ from: "", to: "", low: "", high: "" }));

// The moment of the fabric: a hundredth of what is shown a step.
$("moments").addEventListener("submit", (event) => event.preventDefault());
const setMoment = (part) => change({ at: String(Math.max(0, Math.min(end, part * end)).toPrecision(9)) });
const stepMoment = (by) => {
  const now = fields(channel.shown), width = (Number(now.get("to") || end) - Number(now.get("from") || 0)) / 100;
  const next = now.has("at") ? Number(now.get("at")) + by * width : Number(now.get("from") || 0);
  setMoment(next / end);
  return next < end;
};
let playing = 0;
const play = () => {
  if (playing) { clearInterval(playing); playing = 0; }
  else playing = setInterval(() => { if (!stepMoment(1)) play(); }, 350);
  $("play").setAttribute("aria-pressed", String(Boolean(playing)));
  $("play").textContent = playing ? "stop" : "play";
};
$("at").addEventListener("input", () => setMoment(Number($("at").value) / 1000));
$("earlier").addEventListener("click", () => stepMoment(-1));
$("later").addEventListener("click", () => stepMoment(1));
$("play").addEventListener("click", play);
$("average").addEventListener("click", () => change({ at: "" }));

// Keys. Ranges are moved here, so that the picture follows at once; the server hears of it.
const move = (range, shift, zoom) => {
  const { start, end } = range, middle = (start + end) / 2, half = ((end - start) / 2) * zoom;
  const [least, most] = range.bounds || [-Infinity, Infinity];
  let from = middle - half + shift * (end - start), to = middle + half + shift * (end - start);
  if (to - from >= most - least) [from, to] = [least, most];
  else if (from < least) [from, to] = [least, least + to - from];
  else if (to > most) [from, to] = [most - (to - from), most];
  range.setv({ start: from, end: to });
};
const next = (id) => {
  const list = $(id);
  if (!list) return;
  list.selectedIndex = (list.selectedIndex + 1) % list.options.length;
  change({ [id]: list.value });
};
listen({
  ArrowLeft: () => move(ranges.time, -0.25, 1), ArrowRight: () => move(ranges.time, 0.25, 1),
  ArrowDown: () => move(ranges.nodes, -0.25, 1), ArrowUp: () => move(ranges.nodes, 0.25, 1),
  "+": () => move(ranges.time, 0, 0.5), "=": () => move(ranges.time, 0, 0.5),
  "-": () => move(ranges.time, 0, 2), "]": () => move(ranges.nodes, 0, 0.5),
  "[": () => move(ranges.nodes, 0, 2), 0: () => $("whole").click(),
  b: () => next("by"), r: () => next("run"), c: () => next("beside"),
  ",": () => stepMoment(-1), ".": () => stepMoment(1), " ": play, w: () => $("average").click(),
});
ask();
