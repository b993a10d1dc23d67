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
from urllib.parse import urlsplit

import pytest
from explorer_help import command, served

from coupling.cli.do.view import run_view
from coupling.errors import CouplingError, ResultError
from coupling.explorer.exhibit import exhibit_of
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


def cookie_of(explorer):
    """Return the cookie that the token gives."""
    _, headers, _ = ask(explorer, f"/?token={explorer.token}")
    return headers["Set-Cookie"].split(";")[0]


@pytest.mark.parametrize(
    "path", ["/", "/?token=", "/?token=wrong", "/?token=%00", "/app", "/app/autoload.js"]
)
def test_without_the_token_nothing_is_shown(explorer, path):
    status, headers, text = ask(explorer, path)

    assert status == 302
    assert headers["Location"].startswith("/refused")
    assert "bokeh" not in text.lower()
    assert ask(explorer, "/refused")[0] == 403


def test_the_token_moves_into_a_cookie_and_out_of_the_address(explorer):
    status, headers, _ = ask(explorer, f"/?token={explorer.token}")

    assert (status, headers["Location"]) == (302, "/")
    assert "HttpOnly" in headers["Set-Cookie"]
    assert "SameSite=Strict" in headers["Set-Cookie"]


def test_the_page_may_load_and_run_only_what_the_server_sends(explorer):
    status, headers, text = ask(explorer, "/", Cookie=cookie_of(explorer))

    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'; script-src 'self';" in policy
    assert "unsafe-eval" not in policy
    assert explorer.token not in text
    assert "http://" not in text
    assert "https://" not in text


@pytest.mark.parametrize("path", ["/", "/app", "/refused", "/page/shell.js", "/app/autoload.js"])
def test_every_answer_has_the_headers_of_the_page(explorer, path):
    cookie = cookie_of(explorer)
    page = ask(explorer, "/", Cookie=cookie)[1]

    headers = ask(explorer, path, Cookie=cookie)[1]

    for name in (
        "Content-Security-Policy",
        "Referrer-Policy",
        "X-Content-Type-Options",
        "Cache-Control",
    ):
        assert headers[name] == page[name]


@pytest.mark.parametrize("known", [True, False], ids=["wrong name", "no token"])
def test_a_websocket_without_the_token_is_closed_without_a_traceback(explorer, caplog, known):
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": "bokeh, x",
    }
    if known:
        headers |= {"Cookie": cookie_of(explorer), "Host": "evil.example"}
    line = http.client.HTTPConnection("127.0.0.1", explorer.port, timeout=30)
    try:
        line.request("GET", "/app/ws", headers=headers)
        line.getresponse().read()
    finally:
        line.close()
    ask(explorer, "/refused")  # what the server had to say about the websocket is said

    assert not [record for record in caplog.records if record.exc_info]


def test_a_name_that_another_page_made_up_for_this_machine_is_refused(explorer):
    cookie = cookie_of(explorer)

    for path in ("/", f"/?token={explorer.token}", "/app"):
        status, headers, _ = ask(explorer, path, Cookie=cookie, Host="evil.example")
        assert status == 302
        assert headers["Location"].startswith("/refused")


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

    run_view([small_result], 0, browser=True, as_json=False)

    assert re.match(r"http://127\.0\.0\.1:\d+/\?token=\S+\n", capsys.readouterr().out)


def test_a_port_that_is_taken_is_refused(explorer, small_result):
    with pytest.raises(CouplingError, match=f"--port: expected a free port, got {explorer.port}"):
        Explorer(exhibit_of([small_result]), explorer.port)


def test_without_the_extra_the_command_says_what_to_install(small_result, monkeypatch):
    monkeypatch.setattr("coupling.cli.do.view.find_spec", lambda _: None)

    with pytest.raises(CouplingError, match=r"pip install 'fabricsim\[view\]'"):
        run_view([small_result], 0, browser=False, as_json=False)


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
