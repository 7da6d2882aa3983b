"""An agent that speaks ACP and does what its prompt says: a few words, one action each."""

import json
import os
import subprocess
import sys
import time

STATE = os.path.expanduser("~/sessions.json")
ids = 0
session = None
prompt_id = None


def put(message):
    message["jsonrpc"] = "2.0"
    print(json.dumps(message), flush=True)


def update(**u):
    put({"method": "session/update", "params": {"sessionId": session, "update": u}})


def say(text):
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    line = line.strip()
    return json.loads(line) if line else {}


def ask(method, params):
    """Asks the client and waits; what else comes is dealt with, a cancel is told."""
    global ids
    ids += 1
    put({"id": ids, "method": method, "params": params})
    cancelled = False
    while True:
        m = read()
        if m.get("method") == "session/cancel":
            cancelled = True
        elif "method" not in m and m.get("id") == ids:
            return m.get("result", m.get("error")), cancelled


def sessions():
    try:
        with open(STATE) as f:
            return json.load(f)
    except FileNotFoundError:
        return {}


def remember(text):
    all = sessions()
    all.setdefault(session, []).append(text)
    save(all)


def save(all):
    with open(STATE + ".new", "w") as f:
        json.dump(all, f)
    os.rename(STATE + ".new", STATE)


def permission(command):
    return ask("session/request_permission", {
        "sessionId": session,
        "toolCall": {"toolCallId": "t%d" % ids, "title": command, "kind": "execute", "rawInput": {"command": command}},
        "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}],
    })


def do(line):
    what, _, rest = line.partition(" ")
    if what == "say":
        say(rest)
    elif what == "slow":
        for i in range(int(rest)):
            say("%d " % i)
            time.sleep(0.05)
    elif what == "run":
        answer, cancelled = permission(rest)
        if cancelled or answer["outcome"]["outcome"] == "cancelled":
            say("cancelled")
            return "cancelled"
        if answer["outcome"].get("optionId") == "yes":
            done = subprocess.run(rest, shell=True, capture_output=True, text=True)
            update(sessionUpdate="tool_call_update", toolCallId="t%d" % (ids - 1), status="completed",
                   content=[{"type": "content", "content": {"type": "text", "text": done.stdout + done.stderr}}])
            say("ran it: " + done.stdout.strip())
        else:
            update(sessionUpdate="tool_call_update", toolCallId="t%d" % (ids - 1), status="failed")
            say("refused")
    elif what == "ask":
        answer, _ = ask("cursor/ask_question", {"toolCallId": "q", "title": "Need input", "questions": [
            {"id": "q1", "prompt": rest, "options": [{"id": "a", "label": "Apple"}, {"id": "b", "label": "Pear"}]}]})
        say("answer " + json.dumps(answer["outcome"]))
    elif what == "plan":
        answer, _ = ask("cursor/create_plan", {"toolCallId": "p", "name": "Big", "plan": rest, "todos": []})
        say("plan " + answer["outcome"]["outcome"])
    elif what == "memory":
        say("I remember %d prompts" % len(sessions().get(session, [])))
    elif what == "wait":
        while True:
            if read().get("method") == "session/cancel":
                return "cancelled"
    elif what == "die":
        os._exit(9)


while True:
    m = read()
    method, id, params = m.get("method"), m.get("id"), m.get("params", {})
    if method == "initialize":
        put({"id": id, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}})
    elif method == "session/new":
        session = "s-%d" % (len(sessions()) + 1)
        names = [s["name"] for s in params["mcpServers"] if os.path.exists(s["command"])]
        assert names == ["substrat", "notes"], params
        save({**sessions(), session: []})
        put({"id": id, "result": {"sessionId": session}})
    elif method == "session/load":
        if params["sessionId"] not in sessions():
            put({"id": id, "error": {"code": -32002, "message": "no such session"}})
            continue
        session = params["sessionId"]
        for text in sessions()[session]:
            say("HISTORY " + text)
        put({"id": id, "result": None})
        say("LATE HISTORY")
    elif method == "session/prompt":
        text = params["prompt"][-1]["text"]
        stop = "end_turn"
        remember(text)
        for line in text.splitlines():
            stop = do(line.strip()) or stop
        put({"id": id, "result": {"stopReason": stop}})
    elif id is not None and method:
        put({"id": id, "error": {"code": -32601, "message": "method not found"}})
