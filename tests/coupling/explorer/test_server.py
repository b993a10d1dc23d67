"""Who is let in, what comes back, how it ends."""

import http.client
import signal
from urllib.parse import urlsplit

import pytest
from explorer_help import command, served

from coupling.explorer.exhibit import exhibit_of


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
    assert (process.returncode, said, complained) == (0, "", "")
    assert {path: path.stat().st_mtime_ns for path in small_result.rglob("*")} == before
