"""The server of the explorer: on this machine alone, for requests with its token."""

import asyncio
import hmac
import logging
import re
import secrets
import signal
import socket
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.server.auth_provider import AuthProvider
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.server.views.session_handler import SessionHandler
from bokeh.settings import settings
from bokeh.util.token import check_token_signature, get_token_payload
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders
from tornado.ioloop import IOLoop
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, OutputTransform, RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from coupling.errors import CouplingError, ResultError
from coupling.explorer.cells import SweepView
from coupling.explorer.channel import Follower
from coupling.explorer.moment import Moment, moment_of
from coupling.explorer.page_view import PageView, page_html, page_view
from coupling.explorer.run_view import RunView, exhibit_of
from fabricsim.checking.outputs import PLAN

HOST = "127.0.0.1"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_SAFE = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_OURS = {
    "entry.js": "text/javascript",
    "shell.js": "text/javascript",
    "explorer.js": "text/javascript",
    "moment.js": "text/javascript",
    "explorer.css": "text/css",
}
_STOPPING = (signal.SIGINT, signal.SIGTERM)
_LONGEST_S = 30 * 86400  # that a page may stay open before it is joined


class _AccessGuard(AuthProvider):
    """Lets in requests with the token, and websockets with the signed token of their page."""

    # The token is in a header, which only a script of the page sends: a cookie would go to every
    # port of this machine.

    def __init__(self, token: str, port: int) -> None:
        self.expected = f"Bearer {token}".encode()
        self.hosts = (f"{HOST}:{port}", f"localhost:{port}")
        super().__init__()

    async def let_in(self, handler: RequestHandler) -> str | None:
        """Return a name for a request that may enter, before a websocket opens."""
        request = handler.request
        if isinstance(handler, WebSocketHandler):
            known = _is_signed(handler) and self.from_page(request.headers.get("Origin"))
        else:
            given = request.headers.get("Authorization", "")
            known = hmac.compare_digest(given.encode(), self.expected)
        if known and request.host in self.hosts:  # other names may be another page's trick
            return "you"
        raise HTTPError(403)

    def from_page(self, origin: str | None) -> bool:
        """Say whether no other page asks; programs name no origin."""
        return origin is None or origin in [f"http://{host}" for host in self.hosts]

    @property
    def get_user_async(self) -> Any:  # noqa: ANN401 (Bokeh's own type names another class)
        """Return how the user of a request is found."""
        return self.let_in

    @property
    def login_url(self) -> str:
        """Return what Bokeh wants to know; a request without the token is refused before."""
        return "/"


def _is_signed(handler: WebSocketHandler) -> bool:
    """Say whether a websocket has the token that a page was given with its session."""
    offered = handler.request.headers.get("Sec-WebSocket-Protocol", "").split(",")
    if len(offered) != 2 or offered[0].strip() != "bokeh":  # noqa: PLR2004 (as Bokeh reads it)
        return False
    token, application = offered[1].strip(), cast(BokehTornado, handler.application)
    try:
        signed = check_token_signature(token, secret_key=application.secret_key, signed=True)
        return bool(signed and get_token_payload(token)["session_expiry"] > time.time())
    except (ValueError, TypeError, KeyError):
        return False


class _Headers(OutputTransform):
    """Headers of every answer, also of those that Bokeh gives below ``/app``."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Set them."""
        del finishing
        for name, value in _SAFE.items():
            headers[name] = value
        return status_code, headers, chunk


class _Entry(RequestHandler):
    """The page that takes the token out of the address and asks for what is shown."""

    def get(self) -> None:
        """Send it: it is the same for all."""
        self.write(_template_text("entry.html"))


class _Ours(RequestHandler):
    """Our own script and style."""

    def get(self, name: str) -> None:
        """Send a file of the page."""
        self.set_header("Content-Type", f"{_OURS[name]}; charset=utf-8")
        self.write(_template_text(name))


class _Page(SessionHandler):
    """The page."""

    def __init__(self, app: BokehTornado, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        self.view: PageView = options.pop("view")
        context = app.applications["/app"]
        super().__init__(
            app, *arguments, application_context=context, bokeh_websocket_path="/app/ws", **options
        )

    def write_error(self, status_code: int, **_: Any) -> None:  # noqa: ANN401 (Tornado's)
        """Say how to get in."""
        del status_code
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("Open the whole address that fabricsim view printed, with its token.\n")

    async def get(self) -> None:
        """Send the page to a request with the token."""
        session = await self.get_session()
        self.write(page_html(self.view, session))


class _Pages:
    """Gives each page that is opened its figures; those of the next page are made ahead."""

    def __init__(self, view: PageView) -> None:
        self.view = view
        self.next: Follower | None = None

    def prepare(self) -> None:
        """Make the figures of the next page."""
        if self.next is None:
            self.next = self.view.make_session()

    def opened(self, document: Document) -> None:
        """Put figures into a page, as Bokeh asks for it."""
        document.title = f"{self.view.title} - fabricsim"
        self.prepare()
        cast(Follower, self.next).begin(document)
        self.next = None


def _report_fault(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report a fault, but not a page closed while pictures were on their way to it."""
    # Bokeh awaits several writes in turn: after the first that fails the others are never looked
    # at.
    if not isinstance(context.get("exception"), (WebSocketClosedError, StreamClosedError)):
        loop.default_exception_handler(context)


def _template_text(name: str) -> str:
    """Return a file of the page."""
    return files("coupling.explorer").joinpath("templates", name).read_text("utf-8")


def _listening_socket(port: int) -> socket.socket:
    """Return a socket that listens on this machine alone."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.setblocking(False)
        found.bind((HOST, port))
        found.listen()
    except OSError as error:
        found.close()
        raise CouplingError(
            f"--port: expected a free port, got {port}: {error.strerror}."
        ) from None
    return found


class Explorer:
    """The server. `shown`: What it shows. `port`: Where it listens; 0: any that is free."""

    def __init__(self, shown: RunView | Moment, port: int = 0) -> None:
        self.sockets = [_listening_socket(port)]
        self.port = int(self.sockets[0].getsockname()[1])
        self.token = secrets.token_urlsafe(24)
        view = page_view(shown)
        self._pages = _Pages(view)
        settings.perform_document_validation = False  # a tenth of a second a page
        application = Application(FunctionHandler(self._pages.opened))
        tornado = BokehTornado(
            {"/app": application},
            extra_patterns=[
                (r"/", _Entry),
                (r"/shown", _Page, {"view": view}),
                (rf"/page/({'|'.join(map(re.escape, _OURS))})", _Ours),
            ],
            extra_websocket_origins=[f"{HOST}:{self.port}", f"localhost:{self.port}"],
            auth_provider=_AccessGuard(self.token, self.port),
            secret_key=secrets.token_bytes(32),
            sign_sessions=True,
            use_index=False,
            session_token_expiration=_LONGEST_S,
            include_headers=[],
            include_cookies=[],
        )
        tornado.add_transform(_Headers)
        tornado.settings["log_function"] = lambda _: None  # refused requests are no news
        # a tab may be closed while an answer is on its way, which Bokeh warns of
        logging.getLogger("bokeh.server.views.ws").setLevel(logging.ERROR)
        http = HTTPServer(tornado)
        http.add_sockets(self.sockets)
        self.loop = IOLoop.current()
        cast(Any, self.loop).asyncio_loop.set_exception_handler(_report_fault)
        self._server = BaseServer(self.loop, tornado, http)

    @property
    def address(self) -> str:
        """Return what to open."""
        return f"http://{HOST}:{self.port}/#token={self.token}"

    def serve(self, on_end: Callable[[], None]) -> None:
        """Answer until a signal comes. `on_end`: called when signals end it in order."""
        before = {number: signal.signal(number, self._stop_loop) for number in _STOPPING}
        self.begin()
        try:
            on_end()
            self.loop.start()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self.end()

    def begin(self) -> None:
        """Listen, once the loop runs."""
        self._server.start()
        self.loop.add_callback(self._pages.prepare)  # while the browser starts

    def end(self) -> None:
        """Listen no more."""
        self._server.stop()

    def _stop_loop(self, *_: object) -> None:
        """End: nothing is written, so nothing is lost."""
        self.loop.add_callback_from_signal(self.loop.stop)


def shown_of(paths: Sequence[Path]) -> RunView | Moment:
    """Read what to show: result directories, or one sweep, or one snapshot (``-``: stdin)."""
    files = [path for path in paths if str(path) == "-" or path.is_file()]
    if not files:
        sweeps = [path for path in paths if (path / PLAN).is_file()]
        if not sweeps:
            return exhibit_of(paths)
        if len(paths) > 1:
            raise ResultError(f"{sweeps[0]}: expected a sweep alone, got {len(paths)} paths.")
        return SweepView(sweeps[0])
    if len(paths) > 1:
        raise ResultError(
            f"{files[0]}: expected result directories, or one snapshot alone, got {len(paths)} "
            "paths with a file among them."
        )
    return moment_of(files[0])
