#!/usr/bin/env python3
"""Builds the documentation as a site in the build folder, and fails at any link that leads nowhere."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

from rig import packages
from rig.process import ROOT, TARGET

WANTED = ["mkdocs==1.6.1"]
HOME = TARGET / "docs"
SITE = HOME / "site"

# What stands where for a reader; what is not named here is an error.
PAGES = [
    ("Begin", ["quickstart.md", "concepts.md", "glossary.md"]),
    ("Use", ["cli.md", "console.md", "slack.md"]),
    ("Build", ["contract.md", "write-a-client.md", "errors/README.md", "conformance.md"]),
    ("Run", ["operations.md", "adding-a-source.md", "deploy.md", "gateways.md", "security.md", "reliability.md", "performance.md"]),
    ("Know", ["architecture.md", "adr/README.md", "parity.md", "changelog.md"]),
]
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


def title(text):
    return re.search(r"^# (.+)$", text, re.MULTILINE)[1].replace("`", "")


def staged(stage):
    """Every page with its links as the site has them; files that are no pages lie beside them."""
    sources = {pathlib.PurePosixPath(path.relative_to(ROOT / "docs").as_posix()): path for path in sorted((ROOT / "docs").rglob("*.md"))}
    for name, path in {"index.md": "README.md", "security.md": "SECURITY.md", "changelog.md": "CHANGELOG.md"}.items():
        sources[pathlib.PurePosixPath(name)] = ROOT / path
    place = {path: page for page, path in sources.items()}
    titles = {}
    for page, path in sources.items():
        text = path.read_text()
        titles[str(page)] = title(text)

        def moved(found, page=page, path=path):
            link, anchor = found[1], found[2] or ""
            if ":" in link:
                return found[0]
            target = (path.parent / link).resolve()
            if target.is_dir():
                target /= "README.md"
            up = "../" * (len(page.parts) - 1)
            if target in place:
                return f"]({up}{place[target]}{anchor})"
            if not target.is_file():
                sys.exit(f"docs: {path.relative_to(ROOT)} links to {link}, which is not there")
            inside = target.relative_to(ROOT / "docs") if target.is_relative_to(ROOT / "docs") else "files" / target.relative_to(ROOT)
            copy = stage / inside
            # A name without an ending would be served as what it is not.
            copy = copy if copy.suffix else copy.with_name(f"{copy.name}.txt")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(target, copy)
            return f"]({up}{copy.relative_to(stage).as_posix()}{anchor})"

        out = stage / page
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(LINK.sub(moved, text))
    return titles


def navigation(titles):
    named = {page for _, pages in PAGES for page in pages}
    found = {
        folder: sorted(page for page in titles if page.startswith(f"{folder}/") and page not in named) for folder in ("errors", "adr")
    }
    if missing := set(titles) - named - {"index.md"} - {page for pages in found.values() for page in pages}:
        sys.exit(f"docs: in no part of the site: {', '.join(sorted(missing))}")
    nav = [{"Ask service": "index.md"}]
    for part, pages in PAGES:
        nav.append({part: [{titles[page]: page} for page in pages]})
    nav.append({"Errors": [{titles[page]: page} for page in found["errors"]]})
    nav.append({"Decisions": [{titles[page]: page} for page in found["adr"]]})
    return nav


def main():
    stage = HOME / "pages"
    shutil.rmtree(stage, ignore_errors=True)
    titles = staged(stage)
    config = {
        "site_name": "Ask service", "docs_dir": str(stage), "site_dir": str(SITE), "use_directory_urls": False,
        "theme": {"name": "mkdocs", "highlightjs": False, "color_mode": "auto", "user_color_mode_toggle": True, "navigation_depth": 3},
        "nav": navigation(titles), "markdown_extensions": ["tables", "fenced_code", "toc"],
        "validation": {"omitted_files": "warn", "absolute_links": "warn", "unrecognized_links": "warn", "anchors": "warn"},
    }
    file = HOME / "mkdocs.json"
    file.write_text(json.dumps(config, indent=2))
    python = packages.python(HOME, WANTED)
    subprocess.run([python, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", file], check=True)
    print(f"docs: {len(titles)} pages in {SITE}")


if __name__ == "__main__":
    main()
