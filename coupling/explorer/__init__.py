"""The explorer: a result or a snapshot in the browser, drawn by a server on this machine."""
