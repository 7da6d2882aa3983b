#!/usr/bin/env python3
"""A review pipeline as an agent, by rule and without a model of its own.

    substrat agent create pipe --provider scripted --command examples/review/pipeline.py --dir ~/src/project
    substrat send pipe 'Mend the parser and run the tests.'
    substrat inbox --follow

A worker does the task, and is gated: it gets one turn at a time, when the pipeline says so. Then critics look at what it did,
all at once. A critic approves by beginning its answer with APPROVE; anything else is feedback, and goes back to the
worker, all of it in one message. When every critic approves, or after ROUNDS rounds, the person is told.

The worker and the critics are the children of this agent: one called worker, and those with the role reviewer. Those that are
missing it makes itself, with the simulator; a real team is made before the first task:

    substrat agent create worker --parent pipe --provider cursor
    substrat agent create security --parent pipe --provider cursor --role reviewer --instructions 'Look for holes.'

The state of the pipeline is in ordinary variables. Whatever is killed, and whenever: it goes on where it was.
"""

import substrat_agent

ROUNDS = 3
CRITICS = {
    "correctness": "You review: is it right, and is it tested? Begin with APPROVE, or say what to change.",
    "clarity": "You review: can the next reader follow it? Begin with APPROVE, or say what to change.",
}


class Job:
    """One task on its way through the pipeline."""

    def __init__(self, task):
        self.task = task
        self.round = 0
        self.work = ""
        self.asked = {}  # message id: critic
        self.verdicts = {}  # critic: what it said


jobs = []  # the first one is under way
team = {"critics": []}


def settle_in(t):
    """Finds the worker and the critics, and makes those that are missing."""
    children = t.call("list_children")["children"]
    names = {c["name"] for c in children}
    team["critics"] = sorted(c["name"] for c in children if c.get("role") == "reviewer")
    if "worker" not in names:
        t.call("spawn_agent", name="worker", provider="sim", instructions="You do one task at a time and say what you did.")
    if not team["critics"]:
        for name, what in CRITICS.items():
            t.call("spawn_agent", name=name, provider="sim", role="reviewer", instructions=what)
        team["critics"] = sorted(CRITICS)
    t.call("gate", name="worker")
    t.call("subscribe", name="worker", transition="*->failed")


def to_worker(t, job, text):
    job.round += 1
    job.asked, job.verdicts = {}, {}
    t.call("send_message", recipient="worker", text=text)
    t.call("permit_turn", name="worker")


def begin(t):
    to_worker(t, jobs[0], jobs[0].task)


def review(t, job, work):
    """Fans the work out to all critics."""
    job.work = work
    for critic in team["critics"]:
        text = f"Round {job.round}. The task was:\n{plain(job.task)}\n\nThis was done:\n{work}"
        job.asked[t.call("send_message", recipient=critic, text=text)["message_id"]] = critic


def plain(task):
    """The first lines of a task, without what is meant for the worker alone."""
    return task.split("<<SCRIPT")[0].strip()[:2000]


def judge(t, job):
    """Merges what the critics said, when all have."""
    if len(job.verdicts) < len(team["critics"]):
        return "waiting for the other critics"
    against = {c: v for c, v in sorted(job.verdicts.items()) if not v.lstrip().upper().startswith("APPROVE")}
    if against and job.round < ROUNDS:
        feedback = "\n\n".join(f"{critic}:\n{what}" for critic, what in against.items())
        to_worker(t, job, "Change what the critics ask for.\n\n" + feedback)
        return f"round {job.round}: back to the worker"
    how = "approved by all critics" if not against else "not approved by " + ", ".join(against)
    finish(t, f"{how} after {job.round} rounds:\n{job.work}")
    return how


def finish(t, report):
    t.call("send_message", recipient="USER", text=report)
    jobs.pop(0)
    if jobs:
        begin(t)


def take(t, m):
    """Deals with one message, and says what it did about it."""
    if m.kind in ("user", "request", "notification", "start"):
        jobs.append(Job(m.text))
        if len(jobs) == 1:
            begin(t)
        return "taken on" if len(jobs) == 1 else f"queued behind {len(jobs) - 1}"
    if not jobs:
        return f"nothing waits for this {m.kind}"
    job = jobs[0]
    if m.kind == "reply" and m.sender == "worker":
        review(t, job, m.text)
        return f"round {job.round}: with the critics"
    if m.reply_to in job.asked:
        # A critic that failed has not approved.
        job.verdicts[job.asked.pop(m.reply_to)] = m.text
        return judge(t, job)
    if m.kind == "error" and m.reply_to:
        finish(t, "given up: " + m.text)
        return "given up"
    if m.kind == "error" and not job.asked and not job.verdicts:
        t.call("permit_turn", name="worker")  # its turn failed, and it may try again
        return "another turn for the worker"
    return f"noted: {m.text[:200]}"


def turn(t):
    if not team["critics"]:
        settle_in(t)
    done = [take(t, m) for m in t.messages]
    if not jobs:
        t.checkpoint(team)  # nothing is under way: what was before is of no more use
    return "; ".join(done)


substrat_agent.run(turn, restore=team.update)
