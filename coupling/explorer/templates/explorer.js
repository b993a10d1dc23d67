"use strict";
// The page's side of the explorer: the address, the keys, the theme. What is drawn comes from the server.
(async () => {
  const $ = (id) => document.getElementById(id);
  const items = JSON.parse($("items").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const scheme = () => (document.documentElement.classList.contains("dark") ? "dark" : "light");
  const paint = (isDark) => {
    document.documentElement.classList.toggle("dark", isDark);
    $("theme").setAttribute("aria-pressed", String(isDark));
  };
  paint(dark.matches);
  const colour = (inside) => {
    for (const chip of inside.querySelectorAll("[data-colour]")) chip.style.background = chip.dataset.colour;
    for (const ramp of inside.querySelectorAll("[data-ramp]")) {
      ramp.style.background = `linear-gradient(90deg, ${ramp.dataset.ramp})`;
    }
  };
  colour(document);

  await Bokeh.embed.embed_items({}, [items], "/app");
  const doc = Bokeh.documents[0];
  const channel = doc.get_model_by_name("channel");
  const ranges = { time: doc.get_model_by_name("time"), nodes: doc.get_model_by_name("nodes") };
  window.explorer = channel;

  // The address: its part after # says what is shown. Links in the panel change it.
  const fields = (text) => new URLSearchParams(text.replace(/^#/, ""));
  const moving = ["from", "to", "low", "high", "at"];
  const still = (text) => {
    const own = fields(text);
    moving.forEach((key) => own.delete(key));
    return own.toString();
  };
  // What is asked for: a whole address, or a change of what the server shows, which may be newer than
  // the address here.
  let asked = 0;
  const ask = () => channel.setv({ address: JSON.stringify([++asked, location.hash]) });
  const change = (values) => channel.setv({ wish: JSON.stringify([++asked, values]) });
  const end = Number($("at").dataset.end);
  const showState = () => {
    const own = fields(channel.shown);
    $("run").value = own.get("run") || $("run").options[0].value;
    if ($("beside")) $("beside").value = own.get("beside") || "";
    $("by").value = own.get("by") || "slowdown";
    if (document.activeElement !== $("cable")) $("cable").value = own.get("cable") || "";
    $("at").value = own.has("at") ? (1000 * Number(own.get("at"))) / end : 0;
    if (document.activeElement !== $("job")) $("job").value = own.get("job") || "";
  };
  channel.properties.shown.change.connect(() => {
    const text = channel.shown ? `#${channel.shown}` : location.pathname;
    const same = still(channel.shown) === still(location.hash) || !document.body.dataset.drawn;
    if (same) history.replaceState(null, "", text);
    else history.pushState(null, "", text);
    showState();
  });
  channel.properties.details.change.connect(() => { $("panel").innerHTML = channel.details; });
  channel.properties.key.change.connect(() => {
    $("key").innerHTML = channel.key;
    colour($("key"));
  });
  channel.properties.pointed.change.connect(() => { $("pointed").textContent = channel.pointed; });
  channel.properties.moment.change.connect(() => { $("moment").textContent = channel.moment; });
  channel.properties.missing.change.connect(() => { $("missing").textContent = channel.missing; });
  channel.properties.drawn.change.connect(() => { document.body.dataset.drawn = channel.drawn; });
  addEventListener("hashchange", ask);
  addEventListener("popstate", ask);

  $("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["run", "beside", "by"]) {
    if ($(id)) $(id).addEventListener("change", () => change({ [id]: $(id).value }));
  }
  $("job").addEventListener("change", () => change({ job: $("job").value.trim() }));
  $("whole").addEventListener("click", () => change({ from: "", to: "", low: "", high: "" }));
  $("theme").addEventListener("click", () => {
    paint(scheme() === "light");
    channel.setv({ theme: scheme() });
  });
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
  $("cable").addEventListener("change", () => change({ cable: $("cable").value.trim() }));
  const toggleHelp = () => {
    $("keys").hidden = !$("keys").hidden;
    $("help").setAttribute("aria-expanded", String(!$("keys").hidden));
  };
  $("help").addEventListener("click", toggleHelp);

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
  const keys = {
    ArrowLeft: () => move(ranges.time, -0.25, 1), ArrowRight: () => move(ranges.time, 0.25, 1),
    ArrowDown: () => move(ranges.nodes, -0.25, 1), ArrowUp: () => move(ranges.nodes, 0.25, 1),
    "+": () => move(ranges.time, 0, 0.5), "=": () => move(ranges.time, 0, 0.5),
    "-": () => move(ranges.time, 0, 2), "]": () => move(ranges.nodes, 0, 0.5),
    "[": () => move(ranges.nodes, 0, 2), 0: () => $("whole").click(),
    b: () => next("by"), r: () => next("run"), c: () => next("beside"), t: () => $("theme").click(),
    j: () => channel.setv({ step: channel.step + 1 }), k: () => channel.setv({ step: channel.step - 1 }),
    ",": () => stepMoment(-1), ".": () => stepMoment(1), " ": play, w: () => $("average").click(),
    l: () => $("cable").focus(),
    "/": () => $("job").focus(), p: () => $("panel").focus(), "?": toggleHelp,
    Escape: () => { change({ job: "", cable: "" }); document.activeElement.blur(); },
  };
  addEventListener("keydown", (event) => {
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (event.key === " " && event.target.closest && event.target.closest("button, summary")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape")) return;
    const own = keys[event.key];
    if (!own || (event.target.id === "panel" && event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    own();
  });
  dark.addEventListener("change", () => { paint(dark.matches); channel.setv({ theme: scheme() }); });
  channel.setv({ theme: scheme() });
  ask();
})();
