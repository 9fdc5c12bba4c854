"""Questions and client-owned tools."""

import asyncio
import json
import os
import signal
import threading
import time

from longhaul import AsyncLonghaul, Longhaul


def body_of(agent_id, text):
    return {"agent_id": agent_id, "input": {"text": text}}


def approves(url, key, agent_id, text, slug):
    asked = []

    def on_approval(question):
        asked.append([question["tool_slug"], question["args"], threading.current_thread() is not threading.main_thread()])
        return {"decision": "approve", "comment": "Fine."}

    with Longhaul(url, service_key=key) as client:
        run = client.start_run(body_of(agent_id, text))
        view = run.result(120, on_approval=on_approval, tools={slug: lambda args, call: "filed"})
        # The questions of the past are not asked again.
        frames = [frame["type"] for frame in run.stream(on_approval=on_approval)]
        answers = [one["status"] for one in client.list_run_approvals(run.id)]
        return {"asked": asked, "status": view["status"], "answers": answers, "seen": frames.count("approval.requested")}


async def answered_by_others(url, key, agent_id, text):
    """Somebody else is faster: no error, and the answer of this client is dropped."""
    asked = []
    async with AsyncLonghaul(url, service_key=key) as client:
        run = await client.start_run(body_of(agent_id, text))

        async def on_approval(question):
            asked.append(question["id"])
            await client.resolve_run_approvals(run.id, {"resolutions": [{"approval_id": question["id"], "decision": "reject", "comment": "No."}]})
            return {"decision": "approve"}

        view = await run.result(120, on_approval=on_approval, tools={"file_note": lambda args, call: "filed"})
        answers = [one["status"] async for one in client.list_run_approvals(run.id)]
        return {"asked": len(asked), "answers": answers, "status": view["status"]}


def executes(url, key, agent_id, text):
    called = []

    def find_note(args, call):
        called.append([args, call.slug, bool(call.call_id)])
        if args.get("query") == "broken":
            raise LookupError("there is no such note")
        return {"note": f"about {args['query']}"}

    with Longhaul(url, service_key=key) as client:
        run = client.start_run(body_of(agent_id, text))
        view = run.result(120, tools={"find_note": find_note})
        frames = list(run.stream(tools={"find_note": find_note}))
        results = [[frame["data"]["status"], frame["data"]["output"], (frame["data"]["error"] or {}).get("message")] for frame in frames if frame["type"] == "tool.result"]
        return {"called": sorted(called, key=str), "status": view["status"], "results": sorted(results, key=str)}


async def executes_async(url, key, agent_id, text):
    called = []

    async def find_note(args, call):
        called.append(args["query"])
        await asyncio.sleep(0.1)
        return "found"

    async with AsyncLonghaul(url, service_key=key) as client:
        run = await client.start_run(body_of(agent_id, text))
        async with run.stream(tools={"find_note": find_note}) as stream:
            last = [frame async for frame in stream][-1]
        return {"called": sorted(called), "status": last["data"]["status"]}


def dies_after_its_work(url, key, run_id, path):
    """The work is done and written down; the process dies before the result is sent."""

    def find_note(args, call):
        with open(path, "a") as ledger:
            ledger.write(json.dumps({"call_id": call.call_id, "args": args}) + "\n")
        os.kill(os.getpid(), signal.SIGKILL)

    with Longhaul(url, service_key=key) as client:
        client.run(run_id).result(120, tools={"find_note": find_note})


def goes_by_its_ledger(url, key, run_id, path):
    with open(path) as ledger:
        done = {json.loads(line)["call_id"] for line in ledger}
    seen = []

    def find_note(args, call):
        seen.append(call.call_id in done)
        return "from the ledger"

    with Longhaul(url, service_key=key) as client:
        run = client.run(run_id)
        view = run.result(120, tools={"find_note": find_note})
        results = [frame["data"]["output"] for frame in run.stream() if frame["type"] == "tool.result"]
        return {"known": seen, "status": view["status"], "results": results}


async def is_told_of_the_end(url, key, agent_id, text):
    """A run that is cancelled while its tools work: a coroutine is cancelled, a plain function sees its event."""
    told = []
    at_work = asyncio.Event()

    async def find_note(args, call):
        at_work.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            told.append(call.cancelled.is_set())
            raise

    async with AsyncLonghaul(url, service_key=key) as client:
        run = await client.start_run(body_of(agent_id, text))

        async def read():
            return [frame async for frame in run.stream(tools={"find_note": find_note})]

        reading = asyncio.ensure_future(read())
        await asyncio.wait_for(at_work.wait(), 60)
        await run.cancel()
        await asyncio.wait_for(reading, 60)
        for _ in range(50):
            if told:
                break
            await asyncio.sleep(0.1)
    return told


def is_told_of_its_deadline(url, key, agent_id, text, slug):
    told = threading.Event()

    def find_note(args, call):
        began = time.monotonic()
        if call.cancelled.wait(60) and time.monotonic() - began < 30:
            told.set()

    with Longhaul(url, service_key=key) as client:
        run = client.start_run(body_of(agent_id, text))
        with run.stream(tools={slug: find_note}) as stream:
            statuses = [frame["data"]["status"] for frame in stream if frame["type"] == "tool.result"]
        return {"told": told.wait(5), "statuses": statuses}
