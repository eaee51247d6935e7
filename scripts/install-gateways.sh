#!/usr/bin/env bash
# Installs nginx, Caddy and HAProxy from Debian's packages, and leaves none of them running. Needs root; quick when present.
set -euo pipefail

wanted=()
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || wanted+=(nginx-light)
command -v caddy >/dev/null || wanted+=(caddy)
command -v haproxy >/dev/null || [ -x /usr/sbin/haproxy ] || wanted+=(haproxy)
exec "$(dirname "$0")/install-packages.sh" "${wanted[@]}"
