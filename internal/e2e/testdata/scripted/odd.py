"""A program that does as it is told, odd things among them."""

import os
import subprocess
import sys
import time

import substrat_agent

count = 0


def turn(t):
    global count
    count += 1
    word = t.messages[-1].text
    if word == "print":
        print("a print statement")
        subprocess.run(["sh", "-c", "echo from a child; cat"], check=True)
        os.write(t._agent._out, b"no json\n[1,2]\n{\"type\":\"strange\"}\n{\"type\":\"call\"}\n\n")
        return f"printed {count}"
    if word == "unknown":
        try:
            t.call("no_such_tool", x=1)
        except substrat_agent.CallError as e:
            return f"{e.code} {count}"
    if word == "polite":
        while True:
            try:
                t.call("list_children")
            except substrat_agent.CallError:
                pass
            time.sleep(0.01)
    if word == "hang":
        open("hanging", "w").close()
        time.sleep(3600)
    if word == "raise":
        t.call("list_children")
        raise ValueError("as told")
    if word == "exit":
        os._exit(3)
    if word == "net":
        import socket

        try:
            socket.create_connection(("192.0.2.1", 80), timeout=2)
        except OSError as e:
            return f"no net: {e.errno}"
    if word == "retry":
        return f"{count} {t.retry}"
    if os.path.exists("changed"):
        t.call("list_children", changed=True)
    return f"{word} {count} {os.getpid() and t.agent['path']}"


substrat_agent.run(turn)
