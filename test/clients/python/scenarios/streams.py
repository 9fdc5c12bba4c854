"""Streams and runs."""

import asyncio
import os
import signal

import longhaul
from longhaul import AsyncLonghaul, Longhaul, errors


def facts(frames):
    own = [frame["seq"] for frame in frames]
    return {"gapless": own == list(range(1, len(own) + 1)), "count": len(own), "first": frames[0]["type"], "last": frames[-1]["type"]}


def body_of(agent_id, text):
    return {"agent_id": agent_id, "input": {"text": text}}


def whole(url, key, run_id):
    with Longhaul(url, service_key=key) as client, client.stream_run(run_id) as stream:
        frames = list(stream)
        return {**facts(frames), "cursor": stream.cursor == frames[-1]["seq"]}


async def whole_async(url, key, run_id):
    async with AsyncLonghaul(url, service_key=key) as client, client.stream_run(run_id) as stream:
        return facts([frame async for frame in stream])


def resumed_after(url, key, run_id, after_seq):
    with Longhaul(url, service_key=key) as client, client.stream_run(run_id, after_seq=after_seq) as stream:
        numbers = [frame["seq"] for frame in stream]
        return {"numbers": numbers, "cursor": stream.cursor}


def left_after(url, key, run_id, seq):
    """The loop is left by break, and by an exception: only the first ends the turn of its frame."""
    with Longhaul(url, service_key=key) as client:
        cursors, during = [], []
        with client.stream_run(run_id) as stream:
            for frame in stream:
                during.append(stream.cursor == frame["seq"] - 1)
                if frame["seq"] == seq:
                    break
        cursors.append(stream.cursor)
        try:
            with client.stream_run(run_id) as stream:
                for frame in stream:
                    if frame["seq"] == seq:
                        raise KeyError("the turn failed")
        except KeyError:
            cursors.append(stream.cursor)
        return {"cursors": cursors, "during": all(during)}


def killed_after(url, key, run_id, seq, path):
    """A process that stores its cursor and dies in the turn of a frame."""
    with Longhaul(url, service_key=key) as client, client.stream_run(run_id) as stream:
        for frame in stream:
            with open(path, "w") as file:
                file.write(str(stream.cursor))
            if frame["seq"] == seq + 1:
                os.kill(os.getpid(), signal.SIGKILL)


def from_now_on(url, key, run_id):
    with Longhaul(url, service_key=key) as client:
        numbers = []
        with client.stream_run(run_id, replay=False) as stream:
            for frame in stream:
                numbers.append(frame["seq"])
                if len(numbers) == 3:
                    break
        client.run(run_id).cancel()
        return numbers


def silent(url, key, run_id):
    """The first connection falls silent: after a while the stream looks elsewhere."""
    import longhaul._stream as module

    before, module.SILENCE_S = module.SILENCE_S, 2.0
    try:
        return {**whole(url, key, run_id), "usual": before}
    finally:
        module.SILENCE_S = before


def with_hole(url, key, run_id):
    with Longhaul(url, service_key=key) as client:
        return [frame["seq"] for frame in client.stream_run(run_id)]


def refused(url, key, run_id):
    with Longhaul(url, service_key=key) as client:
        found = []
        for call in (lambda: list(client.stream_run(run_id, after_seq=999_999)), lambda: list(client.stream_run("01960000-0000-7000-8000-000000000017"))):
            try:
                call()
            except longhaul.ApiError as error:
                found.append(error.code)
        return found


async def started_and_read(url, key, agent_id, text):
    async with AsyncLonghaul(url, service_key=key) as client:
        run = await client.start_run(body_of(agent_id, text))
        view = await run.wait(120)
        result = await run.result(120)
        return {"status": view["status"], "text": await run.text(), "reason": result["finish_reason"], "shown": repr(run) == f"<AsyncRun {run.id}>"}


def failed_run(url, key, agent_id, text):
    with Longhaul(url, service_key=key) as client:
        run = client.start_run(body_of(agent_id, text))
        try:
            run.result(120)
            return None
        except longhaul.RunEndedError as error:
            return [error.run["status"], run.id in str(error)]


def cancelled_run(url, key, agent_id, text):
    with Longhaul(url, service_key=key) as client:
        run = client.start_run(body_of(agent_id, text))
        with run.stream() as stream:
            next(stream)
        # Leaving the loop has cancelled nothing.
        live = run.get()["status"]
        try:
            run.wait(0.5)
            late = None
        except longhaul.DeadlineError as error:
            late = isinstance(error, TimeoutError)
        run.cancel("interrupt", "the test is over")
        ended = run.wait(120)
        try:
            run.cancel()
            again = None
        except errors.StateConflictError as error:
            again = error.reason
        return {"live": live in {"queued", "running"}, "late": late, "ended": ended["status"], "again": again}


async def many_starts(urls, key, agent_id, text, runs, at_once):
    """Starts and reads runs to their end, whatever dies meanwhile. Answers with what each stream showed."""
    gate = asyncio.Semaphore(at_once)
    async with AsyncLonghaul(urls[0], service_key=key, timeout=600, max_tries=1_000) as client:

        async def one(n):
            async with gate:
                run = await client.start_run(body_of(agent_id, text.replace("NUMBER", str(n))), idempotency_key=f"start-{agent_id}-{n}")
                frames = [frame async for frame in run.stream()]
                return {"id": run.id, **facts(frames), "status": frames[-1]["data"]["status"]}

        return await asyncio.gather(*(one(n) for n in range(runs)))


def cut_anywhere():
    """The parser's events do not depend on where the network cuts, nor on the ends of lines."""
    from longhaul._sse import EventParser

    plain = "\ufeff: hb\n\nretry: 2000\n\nid: 1\nevent: x\ndata: größe ☃ 𝄞\ndata:second\n\nid: 2\ndata\n\n\nid:3\n\n"
    forms = [plain.replace("\n", end).encode() for end in ("\n", "\r\n", "\r")]

    def read(pieces):
        parser = EventParser()
        events = [event for piece in pieces for event in parser.feed(piece)]
        return [list(event) for event in events if any(part is not None for part in event)]

    whole = read([forms[0]])
    same = all(read([form[:at], form[at:], b""]) == whole or read([form[:at], form[at:], b"\n"]) == whole for form in forms for at in range(len(form)))
    single = all(read([bytes([one]) for one in form] + [b"\n"]) == whole for form in forms)
    return {"events": whole, "same": same, "single": single}


def notices():
    """What the server says before it closes a connection: come back, or do not."""
    import json

    import httpx2

    asked = []

    def frame(seq, type_="run.status", **data):
        envelope = {"v": 2, "seq": seq, "type": type_, "run_id": "r", "data": data}
        line = "" if seq is None else f"id: {seq}\n"
        return f"{line}event: {type_}\ndata: {json.dumps(envelope)}\n\n"

    def stream(*parts):
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content="".join(("retry: 10\n\n", *parts)).encode())

    def answers(*replies):
        left = list(replies)

        def answer(request):
            asked.append(request.headers.get("last-event-id"))
            return left.pop(0)

        return httpx2.MockTransport(answer)

    again = frame(None, "error", code="service_unavailable", message="m", retryable=True)
    envelope = {"code": "session_revoked", "status": 401, "detail": "d", "retryable": False}
    never = frame(None, "error", code="session_revoked", message="m", retryable=False, problem=envelope)
    found = {}
    # A notice, a clean end without an end of the run, and 204 behind the last frame.
    transport = answers(stream(frame(1), again), stream(frame(2)), httpx2.Response(204))
    with Longhaul("http://longhaul.test", service_key="k", transport=transport) as client:
        found["numbers"] = [one["seq"] for one in client.stream_run("r")]
    found["asked"] = list(asked)
    with Longhaul("http://longhaul.test", service_key="k", transport=answers(stream(frame(1), never))) as client:
        seen = []
        try:
            for one in client.stream_run("r"):
                seen.append(one["seq"])
        except errors.SessionRevokedError as error:
            found["refused"] = [seen, error.status]
    page = httpx2.Response(200, headers={"content-type": "text/html"}, content=b"<h1>a proxy</h1>")
    with Longhaul("http://longhaul.test", service_key="k", transport=answers(page)) as client:
        try:
            list(client.stream_run("r"))
        except longhaul.UnreadableReplyError as error:
            found["page"] = error.code
    # The end of a sub-agent, and that of this run, which alone ends the stream.
    copied = frame(1, "run.finished").replace('"run_id": "r"', '"run_id": "child", "origin_seq": 9')
    with Longhaul("http://longhaul.test", service_key="k", transport=answers(stream(copied, frame(2, "run.finished"), frame(3)))) as client:
        found["ends"] = [one["seq"] for one in client.stream_run("r")]
    return found
