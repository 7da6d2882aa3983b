"""A program that can be held at each place of a turn: it says where it is with a file, and waits for another."""

import os
import time

import substrat_agent

seen = []


def hold(place):
    open(f"at-{place}", "w").close()
    while not os.path.exists(f"go-{place}"):
        time.sleep(0.01)


def turn(t):
    seen.append(t.messages[0].text)
    if t.prompt.endswith("free"):
        return f"{len(seen)} {t.random().random()}"
    first = t.now()
    hold("before")
    t.call("send_message", recipient="USER", text=f"one {t.number}")
    t.text("said ")
    hold("after")
    drawn = t.once("draw", lambda: os.getpid())
    try:
        t.call("send_message", recipient="nobody", text="lost")
    except substrat_agent.CallError as e:
        refused = e.code
    t.call("send_message", recipient="USER", text=f"two {t.number} {first} {drawn} {refused}")
    hold("end")
    return f"{len(seen)} turns"


substrat_agent.run(turn)
