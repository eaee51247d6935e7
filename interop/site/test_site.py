"""The documentation as a site: every link leads somewhere, nothing is fetched from elsewhere, and a broken link fails."""

import html.parser
import shutil
import subprocess
import sys

import pytest
from rig.process import ROOT, TARGET

# What a browser fetches by itself.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Fetches(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if address := dict(attrs).get(FETCHED.get(tag)):
            self.found.append(address)


@pytest.fixture(scope="module")
def site():
    subprocess.run([sys.executable, ROOT / "scripts/docs.py"], check=True, timeout=200)
    return TARGET / "docs/site"


def test_every_page_is_there(site):
    for page in (ROOT / "docs").rglob("*.md"):
        inside = page.relative_to(ROOT / "docs").with_suffix(".html")
        built = site / (inside if inside.name != "README.html" else inside.with_name("index.html"))
        assert built.is_file(), built
    assert "The ask service" in (site / "index.html").read_text()


def test_nothing_is_fetched_from_elsewhere(site):
    for page in site.rglob("*.html"):
        reader = Fetches()
        reader.feed(page.read_text())
        outside = [address for address in reader.found if ":" in address and not address.startswith("data:")]
        assert not outside, f"{page.name} fetches {outside}"


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("docs", "scripts", "deploy", "torture"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for name in ("README.md", "SECURITY.md", "CHANGELOG.md", "ask.openapi.json", "events.schema.json"):
        shutil.copy(ROOT / name, copy)
    with open(copy / "docs/concepts.md", "a") as page:
        page.write("\n[nowhere](nowhere.md)\n")
    done = subprocess.run([sys.executable, copy / "scripts/docs.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "docs/concepts.md links to nowhere.md" in done.stderr
