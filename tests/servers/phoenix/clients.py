"""LiveView and channels over WebSocket, as a browser's library would speak them; long polling by HTTP."""

import asyncio
import hashlib
import html
import json
import re
import struct
import sys
import time
import urllib.request

import websockets

BASE = sys.argv[1]
VIEWS = 20
MESSAGES = 1000


def fetched(path, data=None, cookie=None):
    request = urllib.request.Request(BASE + path, data)
    if cookie:
        request.add_header("cookie", cookie)
    with urllib.request.urlopen(request, timeout=20) as response:
        return response.read().decode(), (response.headers.get("set-cookie") or "").split(";")[0]


class Socket:
    """One connection in Phoenix's format, version 2: [join, reference, topic, event, payload]."""

    def __init__(self, path, topic, cookie=None):
        self.url = BASE.replace("http", "ws") + path + ("&" if "?" in path else "?") + "vsn=2.0.0"
        self.topic, self.reference = topic, 0
        self.headers = {"cookie": cookie} if cookie else {}

    async def open(self):
        self.connection = await websockets.connect(self.url, extra_headers=self.headers, max_size=None)
        return self

    async def send(self, event, payload, topic=None):
        self.reference += 1
        await self.connection.send(json.dumps(["1", str(self.reference), topic or self.topic, event, payload]))

    async def got(self):
        message = await asyncio.wait_for(self.connection.recv(), 20)
        return message if isinstance(message, bytes) else json.loads(message)[3:]

    async def asked(self, event, payload, topic=None):
        await self.send(event, payload, topic)
        return await self.got()


async def view():
    """The page as a browser loads it, then its view over the socket."""
    page, cookie = await asyncio.get_event_loop().run_in_executor(None, fetched, "/live")
    attribute = {name: html.unescape(re.search(f'{name}="([^"]*)"', page)[1]) for name in ("id", "data-phx-session", "data-phx-static", "content")}
    socket = Socket(f"/live/websocket?_csrf_token={attribute['content']}", "lv:" + attribute["id"], cookie)
    await socket.open()
    joined = {"url": BASE + "/live", "session": attribute["data-phx-session"], "static": attribute["data-phx-static"], "params": {}}
    return socket, await socket.asked("phx_join", joined)


def click(by):
    return {"type": "click", "event": "more", "value": {"by": str(by)}}


async def views():
    begun = time.time()
    all_views = await asyncio.gather(*[view() for _ in range(VIEWS)])
    print(f"{VIEWS} views: {1000 * (time.time() - begun):.0f} ms", file=sys.stderr)
    (one, first), (other, _) = all_views[:2]
    print(first)
    print(await one.asked("event", click(2)))
    print("another sees", await other.got())
    print(await one.asked("event", {"type": "form", "event": "name", "value": "name=J%C3%BCrgen+%3Cb%3E"}))
    print(await one.asked("heartbeat", {}, "phoenix"))
    for socket, _ in all_views[1:]:
        await socket.connection.close()
    begun = time.time()
    for _ in range(MESSAGES):
        last = await one.asked("event", click(1))
    print(last)
    print(f"{MESSAGES} events: {1000 * (time.time() - begun):.0f} ms", file=sys.stderr)
    # A view that fails is started anew by the client.
    print(await one.asked("event", {"type": "click", "event": "none", "value": {}}))
    await one.connection.close()


async def channels():
    sockets = [await Socket("/socket/websocket", "room:one").open() for _ in range(3)]
    print("compressed", bool(sockets[0].connection.extensions))
    for socket in sockets:
        print(await socket.asked("phx_join", {}))
    print(await sockets[0].asked("phx_join", {}, "room:locked"))
    text = "é" * 50000
    await sockets[0].send("say", {"text": text})
    heard = [await sockets[0].got(), await sockets[0].got()]
    print(sorted(event for event, _ in heard), [payload["response"] for event, payload in heard if event == "phx_reply"])
    for socket in sockets[1:]:
        event, payload = await socket.got()
        print(event, payload["text"] == text)
    # Bytes, pushed in the format's binary form and answered in it.
    data = bytes(range(256)) * 4000
    names = ["1", "99", "room:one", "bytes"]
    await sockets[0].connection.send(struct.pack("5B", 0, *map(len, names)) + "".join(names).encode() + data)
    print("bytes", (await sockets[0].got()).endswith(hashlib.sha256(data).digest()))
    for socket in sockets:
        await socket.connection.close()
        print("closed", socket.connection.close_code)
    lost = await Socket("/socket/websocket", "room:one").open()
    await lost.connection.send("no json")
    try:
        print(await lost.got())
    except websockets.ConnectionClosed as closed:
        print("closed", closed.code)


def long_poll():
    token = json.loads(fetched("/socket/longpoll?vsn=2.0.0")[0])["token"]
    path = f"/socket/longpoll?vsn=2.0.0&token={token}"
    print("long poll", fetched(path, b'["1","1","room:two","phx_join",{}]')[0])
    print("long poll", json.loads(fetched(path)[0])["messages"])


async def main():
    await views()
    await channels()


asyncio.get_event_loop().run_until_complete(asyncio.wait_for(main(), 100))
long_poll()
