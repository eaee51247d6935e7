"""What a person sees, in a real terminal: each screen is compared with the one that is kept here, times and ports masked.

ASK_KEEP_SCREENS=1 writes the screens anew instead; look at every one before it is kept.
"""

import os
import pathlib
import re
import subprocess
import uuid

import pytest

from rig.process import programs, wait_for
from script import Service

SCREENS = pathlib.Path(__file__).parent / "screens"


class Terminal:
    """A tmux pane with a shell in it."""

    def __init__(self, home, base, columns=80, rows=40, **env):
        self.name = f"ask-{uuid.uuid4().hex[:12]}"
        self.base = base
        told = {
            "TERM": "tmux-256color", "LANG": "C.UTF-8", "PATH": f"{programs()}:/usr/bin:/bin", "HOME": str(home),
            "PS1": "$ ", "ASK_BASE_URL": base, "ASK_TOKEN": "to.ke.n", **env,
        }
        shell = ["env", "-i", *(f"{name}={value}" for name, value in told.items()), "bash", "--norc", "--noprofile"]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), *shell)
        self.wait("$")

    def tmux(self, *args):
        command = ["tmux", "-L", self.name, *args]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def type(self, text, enter=True):
        self.tmux("send-keys", "-l", text)
        if enter:
            self.key("Enter")

    def key(self, *names):
        self.tmux("send-keys", *names)

    def screen(self, colours=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def wait(self, text):
        try:
            wait_for(f"{text!r} on the screen", lambda: text in self.screen(), 15)
        except RuntimeError as err:
            raise AssertionError(f"{err}:\n{self.screen()}") from None

    def run(self, command, until="$"):
        """Types a command, and waits for the shell's next prompt."""
        self.key("C-l")
        wait_for("a clear screen", lambda: self.screen().strip() == "$", 5)
        self.type(command)
        wait_for("the end of the command", lambda: self.screen().rstrip().endswith("\n" + until), 15)

    def end(self):
        self.tmux("kill-session")


@pytest.fixture
def service():
    running = Service()
    yield running
    running.go_on.set()
    running.shutdown()
    running.server_close()


@pytest.fixture
def terminal(tmp_path, service):
    opened = []

    def open_one(**how):
        opened.append(Terminal(tmp_path, service.base, **how))
        return opened[-1]

    yield open_one
    for one in opened:
        one.end()


def masked(screen, base):
    screen = screen.replace(base, "http://SERVICE")
    screen = re.sub(r"[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", "*", screen)
    screen = re.sub(r" \d+s *$", " Ns", screen, flags=re.M)
    screen = re.sub(r"again in \d+ ms", "again in N ms", screen)
    screen = re.sub(r"ask \d+\.\d+\.\d+", "ask VERSION", screen)
    screen = re.sub(r"(ok       ask serve  ).*", r"\1PROGRAM", screen)
    return "\n".join(line.rstrip() for line in screen.rstrip().split("\n")) + "\n"


def compare(name, terminal):
    shown = masked(terminal.screen(), terminal.base)
    file = SCREENS / f"{name}.txt"
    if os.environ.get("ASK_KEEP_SCREENS"):
        file.write_text(shown)
    assert shown == file.read_text(), f"the screen differs from {file}"


def test_live_progress_has_a_line_for_each_branch(terminal, service):
    one = terminal()
    one.type("ask tell the branches")
    one.wait("Asking support")
    one.wait("✓ sales")
    compare("progress", one)
    service.go_on.set()
    one.wait("Follow up")
    # Nothing of the progress is left behind.
    assert "✓" not in one.screen() and "*" not in masked(one.screen(), one.base)
    compare("answer", one)


def test_rows_are_drawn_as_bars(terminal):
    one = terminal(rows=50)
    one.run("ask --chart --sql which team is fastest")
    compare("bars", one)


def test_dates_are_drawn_as_a_line_within_the_width(terminal):
    one = terminal(columns=50, rows=60)
    one.run("ask --chart revenue by months")
    compare("line", one)
    assert all(len(line) <= 50 for line in one.screen().split("\n"))


@pytest.mark.parametrize("word", ["email", "satisfaction"])
def test_an_ending_that_is_no_answer_can_not_be_mistaken_for_one(terminal, word):
    one = terminal()
    one.run(f"ask what about {word}; echo code $?")
    compare(word, one)


def test_an_ending_is_broken_between_words_in_a_narrow_terminal(terminal):
    one = terminal(columns=40)
    one.run("ask what about satisfaction")
    compare("narrow", one)


def test_a_dropped_connection_is_not_noticed_but_under_trace(terminal):
    one = terminal(rows=60)
    one.run("ask the cut")
    compare("cut", one)
    one.run("ask --trace the cut")
    compare("cut-trace", one)


def test_what_a_peer_sends_does_not_steer_the_terminal(terminal):
    one = terminal(rows=60)
    one.run("ask something hostile")
    compare("hostile", one)
    for layout in ("csv", "json", "markdown"):
        one.run(f"ask -q --format {layout} something hostile")
        compare(f"hostile-{layout}", one)
    title = one.tmux("display-message", "-p", "#{pane_title}")
    assert "owned" not in title


def test_a_conversation_at_the_keyboard(terminal, service):
    one = terminal(rows=60)
    one.type("ask chat")
    one.wait("ask>")
    # Typed, corrected, asked; then recalled with the arrow and changed.
    one.type("which team is slowest", enter=False)
    one.key(*["BSpace"] * 7)
    one.type("fastest")
    one.wait("demo-analyst")
    one.key("Up")
    one.wait("ask> which team is fastest\n")
    one.type(", again", enter=True)
    wait_for("the second question", lambda: len(service.asked) == 2)
    wait_for("its answer", lambda: one.screen().count("demo-analyst") == 2)
    one.type("/unknown")
    one.wait("There is no /unknown")
    compare("chat", one)
    one.key("C-d")
    wait_for("the shell", lambda: one.screen().rstrip().endswith("\n$"))
    assert [asked["question"] for asked in service.asked] == ["which team is fastest", "which team is fastest, again"]
    # The terminal is as it was: what is typed is shown.
    one.type("echo back")
    one.wait("\nback")


def test_ctrl_c_in_a_conversation_ends_the_question_alone(terminal, service):
    one = terminal()
    one.type("ask chat")
    one.wait("ask>")
    one.type("tell the branches")
    one.wait("✓ sales")
    one.key("C-c")
    one.wait("Cancelling")
    service.go_on.set()
    wait_for("the next prompt", lambda: one.screen().rstrip().endswith("\nask>"))
    assert "Cancelled." in one.screen() or "Fastest team" in one.screen()
    # At the prompt it gives up the line alone.
    one.type("half a quest", enter=False)
    one.wait("ask> half a quest")
    one.key("C-c")
    wait_for("a fresh prompt", lambda: one.screen().rstrip().endswith("half a quest\nask>"))
    one.key("C-d")
    wait_for("the shell", lambda: one.screen().rstrip().endswith("\n$"))


def test_no_color_means_none(terminal):
    for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        one = terminal(rows=60, **env)
        one.type("ask which team is fastest")
        one.wait("Follow up")
        assert ("\x1b[" in one.screen(colours=True)) is coloured, env


def test_the_doctor_says_what_is_missing_and_how_to_mend_it(terminal):
    one = terminal(columns=100)
    one.run("ask doctor; echo code $?")
    compare("doctor", one)
    one.run("ask --base http://127.0.0.1:1 --token '' doctor; echo code $?")
    compare("doctor-missing", one)
