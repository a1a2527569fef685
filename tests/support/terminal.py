"""Commands drawn on a pseudo terminal of this process, and golden files of what they draw."""

from __future__ import annotations

import os
import pty
import re
import shlex
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

import pytest

from api.command import main
from tests.support.commands import END_MS

GOLDEN = Path(__file__).parents[1] / "golden" / "terminal"

WIDTHS = (80, 120)
HEIGHT = 24
"""Lines of each terminal."""

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Drawn:
    """A command of a golden file, and what it draws on a terminal of each width."""

    command: str
    pictures: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """The words behind `fll`."""
        return shlex.split(self.command)

    def __str__(self) -> str:
        parts = (f"--{width}\n{picture}" for width, picture in zip(WIDTHS, self.pictures, strict=True))
        return f"$ fll {self.command}\n{''.join(parts)}"


@dataclass(frozen=True)
class GoldenPictures:
    """A golden file: `$ fll …` begins a command, `--80` and `--120` what it draws."""

    path: Path
    drawn: tuple[Drawn, ...]

    @classmethod
    def read(cls, path: Path) -> GoldenPictures:
        """Read a file; a command without pictures is one to draw."""
        commands = []
        for text in re.split(r"^\$ fll ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            command, *pictures = re.split(r"^(?=--(?:80|120)\n)", text, flags=re.MULTILINE)
            bodies = tuple(picture.partition("\n")[2] for picture in pictures)
            commands.append(Drawn(command.strip(), bodies))
        return cls(path, tuple(commands))

    def __str__(self) -> str:
        return "".join(map(str, self.drawn))

    @property
    def fails(self) -> bool:
        """Whether all commands are refused."""
        return self.path.stem == "errors"

    def draw(self, store: str, change: Callable[[str], str]) -> GoldenPictures:
        """The file with what its commands draw of a store, each picture changed."""
        return replace(
            self,
            drawn=tuple(
                Drawn(
                    item.command,
                    tuple(
                        change(draw(*item.arguments, store=store, width=width, fails=self.fails))
                        for width in WIDTHS
                    ),
                )
                for item in self.drawn
            ),
        )


def draw(*arguments: str, store: str, width: int, height: int = HEIGHT, fails: bool = False) -> str:
    """Return the picture of a terminal, without colours, with what is written to standard error."""
    seen: list[bytes] = []
    with _environment(COLUMNS=str(width), LINES=str(height), TERM="xterm", NO_COLOR="1", FLL_STORE=store):
        controller, terminal = pty.openpty()
        _send_lines_as_they_are(terminal)
        reader = Thread(target=_read, args=(controller, seen))
        reader.start()
        with (
            os.fdopen(os.dup(terminal), "w", encoding="utf-8") as stdout,
            os.fdopen(terminal, "w", encoding="utf-8") as stderr,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr(sys, "stdout", stdout)
            patch.setattr(sys, "stderr", stderr)
            with pytest.raises(SystemExit) as ended:
                main(list(arguments), prog_name="fll", obj=lambda: END_MS)
        reader.join()
        os.close(controller)
    text = b"".join(seen).decode()
    assert (ended.value.code != 0) == fails, text
    return _STYLE.sub("", text)


def _send_lines_as_they_are(terminal: int) -> None:
    """Let the terminal put no carriage return before a line feed."""
    attributes = termios.tcgetattr(terminal)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)


def _read(controller: int, seen: list[bytes]) -> None:
    try:
        while chunk := os.read(controller, 65_536):
            seen.append(chunk)
    except OSError:  # the other end is closed: the command has ended
        return


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


def files() -> list[GoldenPictures]:
    """All golden files, by their names."""
    return [GoldenPictures.read(path) for path in sorted(GOLDEN.glob("*.txt"))]
