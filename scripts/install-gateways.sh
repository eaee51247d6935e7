#!/usr/bin/env bash
# Installs nginx, Caddy and HAProxy from Debian's packages, and leaves none of them running. Needs root; quick when present.
set -euo pipefail

wanted=()
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || wanted+=(nginx-light)
command -v caddy >/dev/null || wanted+=(caddy)
command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ] || wanted+=(haproxy)
if [ ${#wanted[@]} -eq 0 ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "install-gateways: as root, run: apt-get install ${wanted[*]}" >&2
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
apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null
