#!/usr/bin/env bash
# Says, a line each, what this machine lacks to build, run and test the project, and how to get it.
set -u
missing=0

have() { # name, command that shows it, fix
  if eval "$2" >/dev/null 2>&1; then
    printf 'ok       %s\n' "$1"
  else
    printf 'missing  %s: %s\n' "$1" "$3"
    missing=1
  fi
}

version_at_least() { # needed, found
  [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

helps() { # name, command that shows it, what it is for and the fix
  if eval "$2" >/dev/null 2>&1; then
    printf 'ok       %s\n' "$1"
  else
    printf 'optional %s: %s\n' "$1" "$3"
  fi
}

rust_needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$(dirname "$0")/../Cargo.toml")
rust_found=$(rustc --version 2>/dev/null | cut -d ' ' -f 2)
have "Rust $rust_needed or newer" "version_at_least $rust_needed ${rust_found:-0}" "install it with rustup (https://rustup.rs)"
have "rustfmt and clippy" "cargo fmt --version && cargo clippy --version" "rustup component add rustfmt clippy"
have "a C compiler" "command -v cc" "apt-get install gcc libc6-dev"
have "make" "command -v make" "apt-get install make"
have "Python 3" "command -v python3" "apt-get install python3"
for gateway in nginx caddy haproxy; do
  helps "$gateway" "command -v $gateway || test -x /usr/sbin/$gateway" "make conformance-ask installs it, or scripts/install-gateways.sh"
done
free_mb=$(df -Pm . | awk 'NR==2 {print $4}')
have "4 GB of free disk for a build" "test ${free_mb:-0} -ge 4096" "$free_mb MB are free here"
exit $missing
