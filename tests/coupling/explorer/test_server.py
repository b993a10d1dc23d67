"""Who is let in, what comes back, how it ends."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import webbrowser
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from explorer_help import command, served
from tornado.websocket import WebSocketClosedError

from coupling.cli.view import view
from coupling.errors import CouplingError, ResultError
from coupling.explorer.run_view import exhibit_of
from coupling.explorer.server import Explorer
from coupling.results.manifest import read_manifest, write_manifest


@pytest.fixture(scope="module")
def explorer(small_result):
    """Return the explorer of the small result, as it listens."""
    with served(exhibit_of([small_result])) as found:
        yield found


def ask(explorer, path, **headers):
    """Return status, headers and text of an answer."""
    line = http.client.HTTPConnection("127.0.0.1", explorer.port, timeout=30)
    try:
        line.request("GET", path, headers=headers)
        answer = line.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        line.close()


@pytest.mark.parametrize(("error", "lines"), [(WebSocketClosedError(), 0), (ValueError("x"), 1)])
def test_a_page_closed_while_pictures_are_on_their_way_is_no_news(explorer, caplog, error, lines):
    """Asyncio reports in this way a future whose exception is never looked at."""
    explorer.loop.asyncio_loop.call_exception_handler({"message": "x", "exception": error})

    assert len(caplog.records) == lines


def key_of(explorer):
    """Return the header by which the page of the explorer asks."""
    return {"Authorization": f"Bearer {explorer.token}"}


def opened(explorer, token, **headers):
    """Open a websocket as a browser does and return the status of the answer; close it at once."""
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        **({"Sec-WebSocket-Protocol": f"bokeh, {token}"} if token else {}),
        **headers,
    }
    line = http.client.HTTPConnection("127.0.0.1", explorer.port, timeout=30)
    try:
        line.request("GET", "/app/ws", headers=headers)
        return line.getresponse().status
    finally:
        line.close()


def session_of(explorer):
    """Return the signed token of a page's session."""
    text = ask(explorer, "/shown", **key_of(explorer))[2]
    found = re.search(r'id="items">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])["token"]


@pytest.mark.parametrize("path", ["/shown", "/shown?token=wrong", "/app", "/app/autoload.js"])
@pytest.mark.parametrize("given", [None, "", "Bearer ", "Bearer wrong", "Bearer \xe4"])
def test_without_the_token_nothing_is_shown(explorer, path, given):
    status, _, text = ask(explorer, path, **({} if given is None else {"Authorization": given}))

    assert status == 403
    assert "bokeh" not in text.lower()


def test_the_first_page_is_the_same_with_and_without_the_token(explorer):
    """The part of an address after # is not sent; the page puts it into a header."""
    plain = ask(explorer, "/")
    known = ask(explorer, "/", **key_of(explorer))

    assert plain[0] == 200
    assert plain[2] == known[2]
    assert urlsplit(explorer.address).fragment == f"token={explorer.token}"
    assert urlsplit(explorer.address).query == ""


@pytest.mark.parametrize("path", ["/", "/shown", "/app", "/page/entry.js"])
def test_no_answer_sets_a_cookie_which_other_ports_would_get(explorer, path):
    assert "Set-Cookie" not in ask(explorer, path, **key_of(explorer))[1]


def test_the_page_may_load_and_run_only_what_the_server_sends(explorer):
    status, headers, text = ask(explorer, "/shown", **key_of(explorer))

    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "unsafe-eval" not in policy
    assert explorer.token not in text
    assert "http://" not in text
    assert "https://" not in text


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("path", ["/shown", "/app", "/page/shell.js", "/app/autoload.js", "/none"])
def test_every_answer_has_the_headers_of_the_page(explorer, path, known):
    page = ask(explorer, "/")[1]

    headers = ask(explorer, path, **(key_of(explorer) if known else {}))[1]

    for name in (
        "Content-Security-Policy",
        "Referrer-Policy",
        "X-Content-Type-Options",
        "Cache-Control",
    ):
        assert headers[name] == page[name]


def test_websockets_open_with_the_token_of_a_page_alone_and_end_without_a_word(small_result):
    with command(small_result) as (process, address):
        there = SimpleNamespace(port=urlsplit(address).port, token=address.partition("=")[2])
        token = session_of(there)
        forged = token.partition(".")[0] + "." + "A" * 43
        for bad in ("", "x", "x.y", "e30.e30", forged, there.token):
            assert opened(there, bad) == 403
        assert opened(there, token, Host="evil.example") == 403
        assert opened(there, token, Origin="http://evil.example") == 403
        for _ in range(5):
            assert opened(there, token) == 101
        for _ in range(3):
            ask(there, "/shown", **key_of(there))
        process.send_signal(signal.SIGINT)
        said, complained = process.communicate(timeout=60)

    assert (process.returncode, said) == (0, "")
    assert all(line.startswith("compiling ") for line in complained.splitlines())


def test_a_name_that_another_page_made_up_for_this_machine_is_refused(explorer):
    for path in ("/shown", "/app"):
        assert ask(explorer, path, Host="evil.example", **key_of(explorer))[0] == 403


def test_it_listens_on_this_machine_alone(explorer):
    assert urlsplit(explorer.address).hostname == "127.0.0.1"
    assert {sock.getsockname()[0] for sock in explorer.sockets} == {"127.0.0.1"}


@pytest.mark.parametrize("path", ["/page/../server.py", "/page/explorer.py", "/static/../urls.py"])
def test_other_files_are_not_sent(explorer, path):
    assert ask(explorer, path)[0] in (403, 404)


def test_the_command_prints_the_address_and_ends_with_success(small_result):
    before = {path: path.stat().st_mtime_ns for path in small_result.rglob("*")}

    with command(small_result) as (process, address):
        process.send_signal(signal.SIGINT)
        said, complained = process.communicate(timeout=60)

    assert address.startswith("http://127.0.0.1:")
    assert (process.returncode, said) == (0, "")
    assert all(line.startswith("compiling ") for line in complained.splitlines())
    assert {path: path.stat().st_mtime_ns for path in small_result.rglob("*")} == before


def test_a_result_of_100_gb_is_refused_before_it_is_read(small_result, tmp_path):
    folder = tmp_path / "large"
    shutil.copytree(small_result, folder)
    os.truncate(folder / "random" / "jobs.parquet", 100 * 10**9)  # a hole: it takes no disk

    with pytest.raises(ResultError, match=r"jobs.parquet: expected at most 1,024 MiB, got 95,367"):
        exhibit_of([folder])


def test_results_that_are_old_or_half_written_are_refused_in_a_line(small_result, tmp_path):
    for name, change, words in (
        ("old", lambda m: m.pop("files"), "an older version wrote it"),
        ("half", lambda m: m.update(complete=False), "the file was changed"),
    ):
        folder = tmp_path / name
        shutil.copytree(small_result, folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        change(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        with pytest.raises(ResultError, match=words) as caught:
            exhibit_of([folder])
        assert "\n" not in str(caught.value)
    (folder / "manifest.json").unlink()
    with pytest.raises(ResultError, match=r"expected a result directory with manifest.json"):
        exhibit_of([folder])


def test_a_run_that_was_not_finished_is_refused(small_result, tmp_path):
    folder = tmp_path / "half"
    shutil.copytree(small_result, folder)
    write_manifest(folder, read_manifest(folder) | {"complete": False})

    with pytest.raises(ResultError, match="not complete: go on with fabricsim run --resume"):
        exhibit_of([folder])


def test_without_a_browser_the_address_is_printed(small_result, monkeypatch, capsys):
    def missing(_):
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "open", missing)
    monkeypatch.setattr(Explorer, "serve", lambda _, told: told())

    view([small_result], 0, browser=True, as_json=False)

    assert re.match(r"http://127\.0\.0\.1:\d+/#token=\S+\n", capsys.readouterr().out)


def test_a_port_that_is_taken_is_refused(explorer, small_result):
    with pytest.raises(CouplingError, match=f"--port: expected a free port, got {explorer.port}"):
        Explorer(exhibit_of([small_result]), explorer.port)


def test_without_the_extra_the_command_says_what_to_install(small_result, monkeypatch):
    monkeypatch.setattr("coupling.cli.view.find_spec", lambda _: None)

    with pytest.raises(CouplingError, match=r"pip install 'fabricsim\[view\]'"):
        view([small_result], 0, browser=False, as_json=False)


def test_help_loads_nothing_of_it():
    code = (
        "import sys; sys.argv = ['fabricsim', 'view', '--help']\n"
        "from coupling.cli.root import app\n"
        "try: app()\n"
        "except SystemExit: pass\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'bokeh', 'tornado', 'numpy', 'pandas'}))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603

    assert done.stdout.splitlines()[-1] == "[]"


def test_the_help_names_the_extra_that_is_needed(command):
    """Brackets are markup to the library that draws the help."""
    _, out, _ = command("view", "--help")

    assert "pip install 'fabricsim[view]'" in out
