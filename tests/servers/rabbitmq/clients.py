"""AMQP by pika, MQTT and STOMP by hand."""

import socket
import sys
import time

import pika

PORT = int(sys.argv[1])
MESSAGES = 1000
BODY = b"x" * 1024


def amqp():
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", PORT))
    channel = connection.channel()
    channel.confirm_delivery()
    for queue in ("classic", "quorum", "stream"):
        channel.queue_declare(queue, durable=True, arguments={"x-queue-type": queue})
        begun = time.time()
        for _ in range(MESSAGES):
            channel.basic_publish("", queue, BODY, pika.BasicProperties(delivery_mode=2), mandatory=True)
        published = time.time()
        channel.basic_qos(prefetch_count=100)
        offset = {"x-stream-offset": "first"} if queue == "stream" else {}
        got = 0
        for method, _, body in channel.consume(queue, inactivity_timeout=10, arguments=offset):
            if method is None:
                break
            assert body == BODY
            channel.basic_ack(method.delivery_tag)
            got += 1
            if got == MESSAGES:
                break
        channel.cancel()
        print(queue, got)
        print(f"{queue}: {1000 * (published - begun):.0f} ms published, {1000 * (time.time() - published):.0f} ms consumed", file=sys.stderr)
        channel.queue_delete(queue)
    connection.close()


def text(what):
    return len(what).to_bytes(2, "big") + what


def packet(kind, body):
    assert len(body) < 128
    return bytes([kind, len(body)]) + body


def connected(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(10)
    return connection


def read(connection, size):
    got = b""
    while len(got) < size:
        more = connection.recv(size - len(got))
        assert more, "closed"
        got += more
    return got


def mqtt():
    """Version 3.1.1 with a user; a subscription of quality 1, and three messages to itself."""
    connection = connected(PORT + 2)
    connection.sendall(packet(0x10, text(b"MQTT") + b"\4\xc2\0\x3c" + text(b"me") + text(b"guest") + text(b"guest")))
    print("mqtt", read(connection, 4))
    connection.sendall(packet(0x82, b"\0\1" + text(b"a/b") + b"\1"))
    print("mqtt", read(connection, 5))
    for number in range(3):
        connection.sendall(packet(0x32, text(b"a/b") + bytes([0, number + 2]) + b"hello %d" % number))
    # Three messages and three acknowledgements, in an order that is the server's.
    got = read(connection, 3 * 16 + 3 * 4)
    print("mqtt", [got.count(b"hello %d" % number) for number in range(3)], got.count(b"\x40\2\0"))
    connection.close()


def stomp():
    connection = connected(PORT + 3)
    connection.sendall(b"CONNECT\naccept-version:1.2\nhost:/\nlogin:guest\npasscode:guest\n\n\0")
    print("stomp", connection.recv(1000).split(b"\n")[:2])
    connection.sendall(b"SUBSCRIBE\nid:0\ndestination:/queue/s\nack:auto\n\n\0SEND\ndestination:/queue/s\n\nhi there\0")
    print("stomp", connection.recv(1000).rstrip(b"\n\0").split(b"\n")[-1])
    connection.close()


amqp()
mqtt()
stomp()
