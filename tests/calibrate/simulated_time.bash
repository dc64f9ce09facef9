# Time for scripts under test, which wait for nothing. Every bash reads this file first (BASH_ENV).
#   CLOCK  file with the time, ms
#   ENDS   when the `timeout` that a program runs under ends it, ms; absent: never
#   CUT    when everything is killed at once, as by a machine that is taken away, ms; absent: never
# A program that takes time calls `sleep`, or adds to CLOCK itself (gpu_of_formulas.cpp).

read -r BEGAN <"$CLOCK"

# SECONDS of this shell.
passed() {
  local now
  read -r now <"$CLOCK"
  SECONDS=$(((now - BEGAN) / 1000))
}

# Whole seconds, as in `sleep 60`.
sleep() {
  local now
  read -r now <"$CLOCK"
  now=$((now + $1 * 1000))
  if [[ -n ${CUT:-} ]] && ((now >= CUT)); then
    echo "$CUT" >"$CLOCK"
    kill -KILL 0
  fi
  if [[ -n ${ENDS:-} ]] && ((now >= ENDS)); then
    echo "$ENDS" >"$CLOCK"
    exit 130
  fi
  echo "$now" >"$CLOCK"
}

# timeout [--OPTION...] SECONDS COMMAND...
timeout() {
  local now ends code=0
  while [[ $1 == --* ]]; do shift; done
  read -r now <"$CLOCK"
  ends=$((now + $1 * 1000))
  shift
  ENDS=$ends "$@" || code=$?
  read -r now <"$CLOCK"
  ((now < ends)) || code=124
  return "$code"
}

unset SECONDS  # from here on a number like others
set -o functrace
trap passed DEBUG
