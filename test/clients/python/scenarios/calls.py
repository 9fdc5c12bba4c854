"""Calls of operations: credentials, errors, retries, pages, uploads, cancelling."""

import asyncio
import gc
import io
import logging
import pathlib
import pickle
import socket
import tempfile
import threading
import time
import traceback
import warnings

import longhaul
from longhaul import AsyncLonghaul, Longhaul, Tokens, errors, etag_of, reply_of


def client_of(url, key, **options):
    return Longhaul(url, service_key=key, **options)


def reads_and_writes(url, key, name):
    with client_of(url, key) as client:
        agent = client.create_agent({"slug": name, "name": "One"})
        again = client.get_agent(agent["id"])
        renamed = client.update_agent(agent["id"], {"name": "Two"}, if_match=etag_of(again))
        try:
            client.update_agent(agent["id"], {"name": "Three"}, if_match=etag_of(again))
            stale = None
        except errors.PreconditionFailedError as error:
            stale = [error.code, error.maybe_applied]
        part = None
        try:
            reply_of(dict(agent))
        except ValueError as error:
            part = type(error).__name__
        deleted = client.delete_agent(agent["id"])
        return {
            "status": reply_of(agent).status,
            "names": [agent["name"], again["name"], renamed["name"]],
            "stale": stale,
            "part": part,
            "deleted": deleted,
            "text": client.get_llms_text()[:2],
            "document": client.get_openapi()["info"]["title"],
        }


async def reads_and_writes_async(url, key, name):
    async with AsyncLonghaul(url, service_key=key) as client:
        agent = await client.create_agent({"slug": name, "name": "One"})
        found = [one["id"] async for one in client.list_agents(q=name)]
        page = await client.list_agents(q=name, limit=1).page()
        await client.delete_agent(agent["id"])
        return {"found": found == [agent["id"]], "page": len(page["items"])}


def failures(url, key):
    with client_of(url, key) as client:
        found = {}
        for name, call in {
            "not_found": lambda: client.get_run("01960000-0000-7000-8000-000000000017"),
            "validation_failed": lambda: client.create_run({"agent_slug": 7}),
            "cursor_invalid": lambda: list(client.list_runs(cursor="nonsense")),
            "segment": lambda: client.get_run(".."),
            "option": lambda: client.get_run("x", idempotency_key="a"),
        }.items():
            try:
                call()
            except longhaul.ApiError as error:
                copy = pickle.loads(pickle.dumps(error))
                found[name] = {
                    "class": type(error).__name__,
                    "code": error.code,
                    "status": error.status,
                    "retryable": error.retryable,
                    "correlated": bool(error.correlation_id) and error.correlation_id in str(error),
                    "errors": len(error.errors),
                    "copied": [type(copy).__name__, str(copy) == str(error)],
                }
            except (ValueError, TypeError) as error:
                found[name] = type(error).__name__
        return found


def page_of_a_proxy(url, url_for_good, key):
    with client_of(url, key) as client:
        try:
            client.get_version()
            raised = None
        except longhaul.ApiError as error:
            raised = [type(error).__name__, error.code, error.status]
    with client_of(url_for_good, key) as client:
        recovered = client.get_version()["product"]
    return {"raised": raised, "recovered": recovered}


def all_shown(error):
    """What a log or a crash report would hold of an error, and of everything it leads to."""
    text = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    linked = [error.__cause__, error.__context__]
    return text + "".join(repr(vars(one)) + repr(getattr(one, "request", "")) for one in linked if one is not None)


def secrets_stay(url, unreachable, key):
    records = []

    class Keep(logging.Handler):
        def emit(self, record):
            records.append(record.getMessage())

    root = logging.getLogger()
    root.setLevel(1)
    root.addHandler(Keep())
    shown = []
    tokens = Tokens(key, key)
    for base, options in ((url, {"service_key": key}), (unreachable, {"service_key": key, "max_tries": 1}), (url, {"tokens": tokens})):
        client = Longhaul(base, **options)
        shown.append(repr(client) + str(client) + repr(tokens))
        try:
            client.get_run("01960000-0000-7000-8000-000000000017")
        except longhaul.LonghaulError as error:
            shown.append(all_shown(error))
            linked = gc.get_referents(error)
            assert not any(type(one).__module__.startswith("httpx2") for one in linked), linked
    try:
        Longhaul(url, service_key=key + "\n")
    except ValueError as error:
        shown.append(all_shown(error))
    root.setLevel(logging.WARNING)
    return {"leaks": [text for text in [*shown, *records] if key in text], "logged": len(records) > 0}


def redirected(url, key):
    with client_of(url, key, max_tries=1) as client:
        try:
            list(client.list_runs())
            return None
        except longhaul.UnreadableReplyError as error:
            return error.status


def lost_replies(url, key, name, workspace_id):
    """Each retried method, its first reply lost."""
    with client_of(url, key) as client:
        tool = client.create_tool(
            {"slug": name, "kind": "http", "client_owned": True, "effect": "read", "config": {}, "description": "A tool.", "input_schema": {"type": "object"}}
        )
        again = client.get_tool(tool["id"])
        budget = client.put_budget(workspace_id, {"period": "day", "limit_amount": "7.5", "is_enforced": False})
        deleted = client.delete_tool(tool["id"])
        try:
            client.get_tool(tool["id"], timeout=30)
            gone = False
        except errors.NotFoundError:
            gone = True
        return {
            "replayed": reply_of(tool).is_replay,
            "same": again["slug"] == name,
            "budget": budget["period"],
            "deleted": deleted,
            "gone": gone,
        }


def never_there(url, key):
    with client_of(url, key) as client:
        try:
            client.delete_tool("01960000-0000-7000-8000-000000000017")
            return None
        except errors.NotFoundError as error:
            return error.maybe_applied


def lost_patch(url, direct, key, name):
    with client_of(direct, key) as plain, client_of(url, key) as client:
        agent = plain.get_agent(plain.create_agent({"slug": name, "name": "One"})["id"])
        try:
            client.update_agent(agent["id"], {"name": "Two"}, if_match=etag_of(agent))
            stale = None
        except errors.PreconditionFailedError as error:
            stale = error.maybe_applied
        # Without If-Match a repeat could undo what somebody else did meanwhile.
        other = plain.create_agent({"slug": f"{name}-b", "name": "One"})
        try:
            client.update_agent(other["id"], {"name": "Two"})
            lost = None
        except longhaul.ConnectionLostError as error:
            lost = error.maybe_applied
        return {"stale": stale, "lost": lost, "name": plain.get_agent(agent["id"])["name"]}


def lost_unmarked(url, key):
    """A POST that takes no key is sent once."""
    with client_of(url, key) as client:
        try:
            client.validate_agent_revision("01960000-0000-7000-8000-000000000017", {})
            return None
        except longhaul.ConnectionLostError as error:
            return error.maybe_applied


def pages(url, key, names):
    with client_of(url, key) as client:
        for name in names:
            client.create_agent({"slug": name, "name": name})
        walk = iter(client.list_agents(limit=2))
        first = next(walk)["slug"]
        by_cursor = [first, *(one["slug"] for one in walk)]
        by_offset = [one["slug"] for one in client.list_agents(limit=2, offset=0)]
        counted = client.list_agents(limit=1, offset=0).page()
        return {"by_cursor": by_cursor, "by_offset": by_offset, "total": counted["total"]}


def cursor_seen_before():
    """Against a list that never ends: no deployment of ours answers so."""
    import httpx2

    def answer(request):
        return httpx2.Response(200, json={"items": [{"id": "a"}], "next_cursor": "same", "total": None})

    with Longhaul("http://longhaul.test", service_key="k", transport=httpx2.MockTransport(answer)) as client:
        found = []
        try:
            for one in client.list_runs():
                found.append(one["id"])
        except longhaul.CursorRepeatedError as error:
            return {"found": len(found), "raised": type(error).__name__}


def waits_as_told():
    """Retry-After, deadlines and the number of tries, against a server that only refuses."""
    import httpx2

    asked = []
    envelope = {"type": "t", "title": "Rate limited", "status": 429, "detail": "d", "instance": "i", "code": "rate_limited", "retryable": True,
                "correlation_id": "c", "errors": [], "context": {}}

    def refuse(status, retry_after):
        code = "rate_limited" if status == 429 else "service_unavailable"

        def answer(request):
            asked.append(time.monotonic())
            return httpx2.Response(status, headers={"retry-after": str(retry_after)}, json={**envelope, "status": status, "code": code, "retry_after_s": retry_after})

        return httpx2.MockTransport(answer)

    found = {}
    with Longhaul("http://longhaul.test", service_key="k", transport=refuse(429, 1), max_tries=2) as client:
        try:
            client.validate_agent_revision("a", {})
        except errors.RateLimitedError:
            found["unmarked"] = len(asked)
            found["waited"] = asked[1] - asked[0] >= 1.0
    asked.clear()
    with Longhaul("http://longhaul.test", service_key="k", transport=refuse(503, 0), max_tries=3) as client:
        try:
            client.get_version()
        except errors.ServiceUnavailableError:
            found["get"] = len(asked)
        asked.clear()
        try:
            client.validate_agent_revision("a", {})
        except errors.ServiceUnavailableError as error:
            found["unmarked_503"] = [len(asked), error.maybe_applied]
    asked.clear()
    with Longhaul("http://longhaul.test", service_key="k", transport=refuse(503, 61)) as client:
        try:
            client.get_version()
        except errors.ServiceUnavailableError:
            found["too_long"] = len(asked)
    asked.clear()
    with Longhaul("http://longhaul.test", service_key="k", transport=refuse(503, 30)) as client:
        began = time.monotonic()
        try:
            client.get_version(timeout=2.0)
        except errors.ServiceUnavailableError:
            found["deadline"] = [len(asked), time.monotonic() - began < 2.0]
    return found


def deprecations():
    import httpx2

    def answer(request):
        return httpx2.Response(200, headers={"deprecation": "@1", "sunset": "Sat, 31 Dec 2039 23:59:59 GMT"}, json={"product": "longhaul"})

    with warnings.catch_warnings(record=True) as caught, Longhaul("http://longhaul.test", transport=httpx2.MockTransport(answer)) as client:
        warnings.simplefilter("always")
        client.get_version()
        client.get_version()
        client.get_capabilities()
    return [type(one.message).__name__ for one in caught]


async def session(url, email, password):
    """Many calls find the token expired at once: one refresh, stored before it is used."""
    async with AsyncLonghaul(url) as anonymous:
        login = await anonymous.login({"email": email, "password": password})
    stored, order = [], []

    async def on_tokens(tokens):
        order.append("storing")
        await asyncio.sleep(0.2)
        stored.append(tokens)
        order.append("stored")

    client = AsyncLonghaul(url, tokens=Tokens(login["access_token"], login["refresh_token"]), on_tokens=on_tokens)
    async with client:
        before = (await client.get_current_session())["id"]
        session_of = client._caller._credentials
        expired = session_of.bearer()
        renewed = await asyncio.gather(*(session_of.renew(expired, client._caller._refresh) for _ in range(5)))
        order.append("used" if session_of.bearer() == stored[0].access_token else "not used")
        after = (await client.get_current_session())["id"]
        # Another process was faster with the same refresh token.
        loads = []

        def load():
            loads.append(1)
            return None if len(loads) < 2 else stored[-1]

        loser = AsyncLonghaul(url, tokens=Tokens(login["access_token"], login["refresh_token"]), load_tokens=load)
        async with loser:
            credentials = loser._caller._credentials
            adopted = await credentials.renew(login["access_token"], loser._caller._refresh)
            third = (await loser.get_current_session())["id"]
        lonely = AsyncLonghaul(url, tokens=Tokens(login["access_token"], login["refresh_token"]))
        async with lonely:
            try:
                await lonely._caller._credentials.renew(login["access_token"], lonely._caller._refresh)
                lost = None
            except longhaul.ApiError as error:
                lost = error.code
        # Who is cancelled in the middle of a refresh takes its tokens from nobody.
        expired = session_of.bearer()
        task = asyncio.ensure_future(session_of.renew(expired, client._caller._refresh))
        await asyncio.sleep(0)
        task.cancel()
        for _ in range(100):
            if session_of.bearer() != expired:
                break
            await asyncio.sleep(0.1)
        fourth = (await client.get_current_session())["id"]
    return {
        "same": len({before, after, third, fourth}),
        "renewed": renewed,
        "stored": len(stored),
        "order": order[:3],
        "adopted": adopted,
        "loads": len(loads),
        "lost": lost,
    }


async def expired_token_is_resent():
    """Five calls at once find the token expired: one refresh, and each is sent once more."""
    import httpx2

    asked, stored = [], []

    def answer(request):
        bearer = request.headers.get("authorization")
        asked.append((request.url.path, bearer))
        if request.url.path == "/auth/refresh":
            return httpx2.Response(200, json={"access_token": "new", "refresh_token": "new-refresh"})
        if bearer == "Bearer old":
            envelope = {"code": "token_expired", "status": 401, "retryable": False, "retry_after_s": None, "errors": [], "context": {}}
            return httpx2.Response(401, json=envelope)
        return httpx2.Response(200, json={"product": "longhaul", "stored": len(stored)})

    tokens = Tokens("old", "old-refresh")
    async with AsyncLonghaul("http://longhaul.test", tokens=tokens, on_tokens=stored.append, transport=httpx2.MockTransport(answer)) as client:
        views = await asyncio.gather(*(client.get_version() for _ in range(5)))
    refreshes = [bearer for path, bearer in asked if path == "/auth/refresh"]
    return {"refreshes": refreshes, "stored_before": {view["stored"] for view in views} == {1}, "sent": len(asked)}


def uploads(url, losing, key):
    folder = pathlib.Path(tempfile.mkdtemp())
    path = folder / "bericht ä.txt"
    data = "Zeile\n".encode() * 50_000
    path.write_bytes(data)
    found = {}
    with client_of(url, key) as client:
        sources = {"bytes": data, "path": path, "file": open(path, "rb"), "memory": io.BytesIO(data), "pieces": iter([data[:7], data[7:]])}
        for name, source in sources.items():
            view = client.create_attachment(source, filename=None if name == "path" else "a.txt", purpose="other")
            with client.get_attachment(view["id"]) as content:
                same = content.read() == data
            found[name] = [view["filename"], view["size_bytes"] == len(data), same]
        saved = folder / "saved"
        found["saved"] = client.get_attachment(view["id"]).save(saved) == len(data) and saved.read_bytes() == data
        with client.get_attachment(view["id"], range="bytes=0-4") as content:
            found["range"] = [content.status, content.text()]
    with client_of(losing, key) as client:
        # Its reply is lost once: the same file is found again.
        again = client.create_attachment(path)
        found["repeated"] = [again["size_bytes"] == len(data), reply_of(again).is_replay]
    return found


def one_shot(losing, key):
    with client_of(losing, key) as client:
        try:
            client.create_attachment(iter([b"once"]), filename="a.txt")
            return None
        except longhaul.ConnectionLostError as error:
            return error.maybe_applied


async def upload_async(url, key):
    async def pieces():
        for _ in range(10):
            yield b"piece\n"

    async with AsyncLonghaul(url, service_key=key) as client:
        view = await client.create_attachment(pieces(), filename="a.txt")
        async with await client.get_attachment(view["id"]) as content:
            return {"size": view["size_bytes"], "text": (await content.text())[:6]}


async def cancelled():
    """A server that takes requests and never answers: its end of the connection is told at once when the task is cancelled."""
    ended = asyncio.Event()
    begun = asyncio.Event()
    tries = 0

    async def serve(reader, writer):
        nonlocal tries
        tries += 1
        begun.set()
        while await reader.read(1_000):
            pass
        ended.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    found = {}
    async with AsyncLonghaul(f"http://127.0.0.1:{port}", service_key="k") as client:
        for name, call in {"call": client.get_version, "stream": client.stream_run("01960000-0000-7000-8000-000000000017").__anext__}.items():
            begun.clear()
            ended.clear()
            tries = 0
            task = asyncio.ensure_future(call())
            await begun.wait()
            began = time.monotonic()
            task.cancel()
            await asyncio.wait_for(ended.wait(), 5)
            found[name] = time.monotonic() - began < 1.0
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.sleep(0.3)
            found[f"{name} tries"] = tries
    server.close()
    return found


def closed_while_waiting():
    """Closing a blocking client from another thread ends the wait before the next try."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    client = Longhaul(f"http://127.0.0.1:{port}", service_key="k", max_tries=50, timeout=None)
    threading.Timer(0.5, client.close).start()
    try:
        client.get_version()
    except longhaul.ClientClosedError as error:
        return type(error).__name__


def bad_bases():
    found = []
    for base in ("ftp://a", "a", "http://user:word@a", "http://a/?x=1", "https://"):
        try:
            Longhaul(base, service_key="k")
        except ValueError as error:
            found.append("word" not in str(error))
    return found
