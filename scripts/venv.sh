# Sourced by the other scripts: `ensure_venv [dev]` makes .venv and keeps it equal to the locked requirements.

# Where Python may not keep what it compiles, each process compiles the whole product and all packages again.
unset PYTHONDONTWRITEBYTECODE

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$candidate"; return; }
  done
  echo "applyviz needs Python 3.11 or newer. Install it, or name it: PYTHON=/path/to/python3 $0" >&2
  return 1
}

# One line for every tenth package, so that a first start is never silent; from its first error on, pip's own lines as
# they are: the package that it cannot install stands below the error.
show_progress() {
  awk -v total="$1" '
    /^ *Collecting / { count++; if (count % 10 == 0 && count < total) say("  " count " of " total " packages ...") }
    /^Installing collected packages/ { say("  Unpacking " total " packages; this takes a moment ...") }
    /^ *(ERROR|error)/ { failed = 1 }
    failed || /^ *WARNING/ { say($0) }
    function say(text) { print text; fflush() }
  '
}

ensure_venv() {
  local wanted=requirements.txt python stamp
  [ "${1:-}" = dev ] && wanted=requirements-dev.txt
  stamp=.venv/.installed-$(cat requirements.txt "$wanted" | cksum | tr ' ' '-')-${1:-run}
  [ -e "$stamp" ] && return
  python=$(find_python)
  if [ ! -x .venv/bin/python ]; then
    echo "Making .venv with $("$python" --version) ..."
    "$python" -m venv .venv || {
      rm -rf .venv
      echo "This Python cannot make virtual environments. On Debian and Ubuntu: apt-get install python3-venv" >&2
      return 1
    }
  fi
  echo "Installing $wanted by hash ..."
  # Python compiles a module when it first loads it: pip would compile thousands that nothing loads.
  .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off --no-color --no-compile \
    --require-hashes -r "$wanted" 2>&1 | show_progress "$(grep -c '^[A-Za-z0-9].*==' "$wanted")" || {
    echo "Installing $wanted with $(.venv/bin/python -m pip --version | cut -d' ' -f1,2) failed; pip says why above." \
      "It needs a Python package index (its configuration decides which)." >&2
    return 1
  }
  # A dev environment serves the product, too.
  touch "$stamp"
  [ "${1:-}" = dev ] && touch ".venv/.installed-$(cat requirements.txt requirements.txt | cksum | tr ' ' '-')-run"
  return 0
}
