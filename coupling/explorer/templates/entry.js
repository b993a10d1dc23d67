// Takes the token out of the address and asks for the page with it. The browser keeps it for this tab and
// this port, and sends it nowhere by itself.
const own = new URLSearchParams(location.hash.slice(1));
if (own.has("token")) {
  sessionStorage.setItem("token", own.get("token"));
  own.delete("token");
  history.replaceState(null, "", own.size ? `#${own}` : location.pathname);
}
const headers = { Authorization: `Bearer ${sessionStorage.getItem("token") || ""}` };
const answer = await fetch("/shown", { headers });
const text = await answer.text();
if (answer.ok) {
  document.open();
  document.write(text);
  document.close();
} else {
  document.getElementById("entry").textContent = text;
}
