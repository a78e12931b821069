"""XMPP by slixmpp (STARTTLS, SCRAM, roster, messages, a room), MQTT by hand."""

import asyncio
import logging
import socket
import ssl
import sys
import time

import slixmpp

PORT = int(sys.argv[1])
CLIENTS = 8
MESSAGES = 2000


class Client(slixmpp.ClientXMPP):
    def __init__(self, number):
        super().__init__(f"user{number}@localhost", "secret")
        self.got = asyncio.Queue()
        self.ready = asyncio.Future()
        for plugin in ("xep_0030", "xep_0045", "xep_0199"):
            self.register_plugin(plugin)
        self.ssl_context.check_hostname = False
        self.ssl_context.verify_mode = ssl.CERT_NONE
        self.add_event_handler("session_start", self.begin)
        self.add_event_handler("failed_auth", lambda _: print("not let in"))
        self.add_event_handler("message", lambda m: self.got.put_nowait((m["type"], m["from"].bare, m["body"])))

    async def begin(self, _):
        self.send_presence()
        await self.get_roster()
        self.ready.set_result(True)

    async def next(self):
        return await asyncio.wait_for(self.got.get(), 20)


async def xmpp():
    clients = [Client(number) for number in range(CLIENTS)]
    begun = time.time()
    for client in clients:
        client.connect(("127.0.0.1", PORT))
    await asyncio.wait_for(asyncio.gather(*[client.ready for client in clients]), 60)
    print(f"{CLIENTS} sessions: {1000 * (time.time() - begun):.0f} ms", file=sys.stderr)
    one, other = clients[:2]
    print("encrypted", one.transport.get_extra_info("cipher") is not None)
    one.send_message(mto=other.boundjid, mbody="hello é", mtype="chat")
    print(await other.next())
    print("ping", await one["xep_0199"].ping("localhost") >= 0)
    for number, client in enumerate((one, other)):
        await client["xep_0045"].join_muc_wait("room@conference.localhost", f"nick{number}", timeout=20)
    one.send_message(mto="room@conference.localhost", mbody="to all", mtype="groupchat")
    while True:
        message = await other.next()
        if message[2] == "to all":
            print(message)
            break
    await one.update_roster(other.boundjid.bare, name="other")
    roster = await one.get_roster()
    print([(str(jid), entry["name"]) for jid, entry in roster["roster"]["items"].items()])
    begun = time.time()
    for number in range(MESSAGES):
        one.send_message(mto=other.boundjid, mbody=str(number), mtype="chat")
    print("in order", [int((await other.next())[2]) for _ in range(MESSAGES)] == list(range(MESSAGES)))
    print(f"{MESSAGES} messages: {1000 * (time.time() - begun):.0f} ms", file=sys.stderr)
    for client in clients:
        await client.disconnect()


def text(what):
    return len(what).to_bytes(2, "big") + what


def mqtt():
    connection = socket.create_connection(("127.0.0.1", PORT + 4))
    connection.settimeout(10)
    hello = text(b"MQTT") + b"\4\xc2\0\x3c" + text(b"me") + text(b"user0@localhost") + text(b"secret")
    connection.sendall(bytes([0x10, len(hello)]) + hello)
    print("mqtt", connection.recv(4))
    connection.close()


logging.basicConfig(level=logging.CRITICAL)
asyncio.get_event_loop().run_until_complete(asyncio.wait_for(xmpp(), 100))
mqtt()
