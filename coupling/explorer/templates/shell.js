// What the pages of the explorer share: the address, the panel, the theme, the keys. What is drawn comes
// from the server.
export const $ = (id) => document.getElementById(id);
export const fields = (text) => new URLSearchParams(text.replace(/^#/, ""));

const colour = (inside) => {
  for (const chip of inside.querySelectorAll("[data-colour]")) chip.style.background = chip.dataset.colour;
  for (const ramp of inside.querySelectorAll("[data-ramp]")) {
    ramp.style.background = `linear-gradient(90deg, ${ramp.dataset.ramp})`;
  }
};

// Puts HTML of the server, which has escaped all names, somewhere.
export const put = (place, html) => {
  place.innerHTML = html;
  colour(place);
};

const themed = () => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = (isDark) => {
    document.documentElement.classList.toggle("dark", isDark);
    $("theme").setAttribute("aria-pressed", String(isDark));
  };
  const scheme = () => (document.documentElement.classList.contains("dark") ? "dark" : "light");
  paint(dark.matches);
  return (channel) => {
    const told = () => channel.setv({ theme: scheme() });
    $("theme").addEventListener("click", () => { paint(scheme() === "light"); told(); });
    dark.addEventListener("change", () => { paint(dark.matches); told(); });
    told();
  };
};

// Draws a page. Parts of the address in `moving` make no step of the browser's history; `show` is called
// whenever something else is shown.
export const open = async ({ moving = [], show }) => {
  const theme = themed();
  colour(document);
  await Bokeh.embed.embed_items({}, [JSON.parse($("items").textContent)], "/app");
  const doc = Bokeh.documents[0], channel = doc.get_model_by_name("channel");
  window.explorer = channel;

  // The address: its part after # says what is shown. Links in the panel change it. What is asked for is a
  // whole address, or a change of what the server shows, which may be newer than the address here.
  let asked = 0;
  const ask = () => channel.setv({ address: JSON.stringify([++asked, location.hash]) });
  const change = (values) => channel.setv({ wish: JSON.stringify([++asked, values]) });
  const still = (text) => {
    const own = fields(text);
    moving.forEach((key) => own.delete(key));
    return own.toString();
  };
  channel.properties.shown.change.connect(() => {
    const text = channel.shown ? `#${channel.shown}` : location.pathname;
    const same = still(channel.shown) === still(location.hash) || !document.body.dataset.drawn;
    if (same) history.replaceState(null, "", text);
    else history.pushState(null, "", text);
    show(channel);
  });
  channel.properties.details.change.connect(() => put($("panel"), channel.details));
  for (const id of ["pointed", "moment", "missing"]) {
    if ($(id)) channel.properties[id].change.connect(() => { $(id).textContent = channel[id]; });
  }
  channel.properties.drawn.change.connect(() => { document.body.dataset.drawn = channel.drawn; });
  addEventListener("hashchange", ask);
  addEventListener("popstate", ask);
  document.querySelector("[data-skip]").addEventListener("click", (event) => {
    event.preventDefault();
    $("main").focus();
  });
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["job", "cable"]) $(id).addEventListener("change", () => change({ [id]: $(id).value.trim() }));
  $("help").addEventListener("click", () => {
    $("keys").hidden = !$("keys").hidden;
    $("help").setAttribute("aria-expanded", String(!$("keys").hidden));
  });
  const step = (by) => channel.setv({ step: channel.step + by });
  const common = {
    j: () => step(1), k: () => step(-1), t: () => $("theme").click(), "?": () => $("help").click(),
    "/": () => $("job").focus(), l: () => $("cable").focus(), p: () => $("panel").focus(),
    Escape: () => { change({ job: "", cable: "" }); document.activeElement.blur(); },
  };
  const listen = (own) => addEventListener("keydown", (event) => {
    const keys = { ...common, ...own };
    const typing = event.target.closest && event.target.closest("input, select, textarea");
    if (event.key === " " && event.target.closest && event.target.closest("button, summary")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || (typing && event.key !== "Escape")) return;
    const scrolls = event.target.matches && event.target.matches("#panel, .scroll");
    if (!keys[event.key] || (scrolls && event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    keys[event.key]();
  });
  theme(channel);
  return { doc, channel, change, ask, listen };
};

// Shows a value where nobody is typing.
export const fill = (id, value) => {
  if ($(id) && document.activeElement !== $(id)) $(id).value = value || "";
};
