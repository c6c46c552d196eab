#!/usr/bin/env bash
# chromium.sh: prints the path of a Chromium or Chrome, or of CHROMIUM. Installs Debian's if there is none.
set -euo pipefail
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
  if [[ -n $name ]] && command -v "$name"; then exit; fi
done
if [[ $(id -u) != 0 ]] || ! command -v apt-get >/dev/null; then
  echo "no Chromium is installed: install it, or set CHROMIUM to its path" >&2
  exit 1
fi
apt-get update -qq >&2
# fonts-inter is for screenshots that look as they do on machines with a desktop.
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-inter >&2
command -v chromium
