#!/usr/bin/env bash
# Installs the Debian packages named, and leaves no service of theirs running. Needs root.
set -euo pipefail

if [ $# -eq 0 ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "install-packages: as root, run: apt-get install $*" >&2
  exit 1
fi

# A package's own script must not start its service: this policy says no while the packages are set up.
policy=/usr/sbin/policy-rc.d
made_policy=
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  made_policy=yes
fi
cleanup() {
  [ -z "$made_policy" ] || rm -f "$policy"
}
trap cleanup EXIT

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "$@" >/dev/null
