#!/usr/bin/env bash
# Installs the applications and outside observers that the desktop tests use. On
# Debian as root it installs what is missing; otherwise it says what to run.
set -euo pipefail
packages=(xvfb dbus-daemon at-spi2-core openbox gnome-calculator mousepad zenity gtk-3-examples
  xdotool xinput x11-utils x11-apps wmctrl python3-pyatspi fonts-dejavu-core)
missing=()
for p in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ]; then
  echo "The desktop tests need these packages; run: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
