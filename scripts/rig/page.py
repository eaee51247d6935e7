"""The code blocks of a page of the documentation that name a file."""

import re

from .process import ROOT

BLOCK = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page="docs/write-a-client.md"):
    """Each file's text by its name."""
    found = BLOCK.findall((ROOT / page).read_text())
    named = dict(found)
    assert len(named) == len(found), "a file is there twice"
    return named
