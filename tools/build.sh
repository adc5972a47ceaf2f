#!/usr/bin/env bash
# Builds targets with ninja, and says how long it will take and how far it is.
#
# usage: tools/build.sh FOLDER TARGET...     FOLDER: a build folder that CMake has configured
# A terminal sees one line that is redrawn; a file gets a line every 30 seconds. What the compiler
# says is kept in FOLDER/build.log and shown if the build fails. Exit code: ninja's.
#
# The estimate: each step weighs what its sources weigh. How many seconds a weight takes is what it
# took so far; before there is any, kMillisecondsPerWeight, shared among the cores.
set -uo pipefail

if [ $# -lt 2 ]; then
  echo "build: expected a build folder and at least one target, got '$*'" >&2
  exit 2
fi
folder=$1
shift
targets=("$@")
if [ ! -f "$folder/build.ninja" ]; then
  echo "build: $folder has no build.ninja: configure it first, e.g. cmake --preset release" >&2
  exit 2
fi
# What a weight takes on one core of a server of 2024.
kMillisecondsPerWeight=110
cores=$(nproc)
log=$folder/build.log
declare -A weights=()
weight_of_all=0

# A KiB of a source weighs 1, what it includes 25, once for a batch. A batch lists its sources.
weigh() {
  local object source bytes
  while read -r object source; do
    [ -n "$object" ] || continue
    bytes=0
    if [[ $source == */unity_*_cxx.cxx && -f $source ]]; then
      bytes=$(sed -n 's/^#include "\(.*\)"$/\1/p' "$source" | tr '\n' '\0' |
        xargs -0 -r cat 2>/dev/null | wc -c)
    elif [ -f "$source" ]; then
      bytes=$(wc -c <"$source")
    fi
    weights[$object]=$((25 + bytes / 1024))
    weight_of_all=$((weight_of_all + weights[$object]))
  done < <(ninja -C "$folder" -t commands "$@" 2>/dev/null |
    sed -n 's/.* -o \([^ ]*\.o\) -c \([^ ]*\).*/\1 \2/p')
}

in_words() {
  local seconds=$1
  if [ "$seconds" -lt 60 ]; then
    printf '%d s' "$seconds"
  else
    printf '%d min %02d s' $((seconds / 60)) $((seconds % 60))
  fi
}

# show DONE ALL: how far it is. $weight_done and $weight_of_all are what has been and is to be done.
show() {
  local elapsed=$((SECONDS - began)) left percent text
  [ "$weight_of_all" -gt 0 ] || weight_of_all=1
  [ "$weight_done" -le "$weight_of_all" ] || weight_done=$weight_of_all
  percent=$((100 * weight_done / weight_of_all))
  # The first guess counts as if a twentieth of the work had taken that long.
  left=$(((weight_of_all - weight_done) * (elapsed * 1000 + first_guess_ms / 20) /
    (weight_done + weight_of_all / 20 + 1) / 1000))
  text=$(printf 'building: %3d %%, %d of %d steps, %s so far, about %s left' "$percent" "$1" "$2" \
    "$(in_words "$elapsed")" "$(in_words "$left")")
  if [ -t 2 ]; then
    printf '\r%-79s' "$text" >&2
  elif [ "$elapsed" -ge "$next_line" ]; then
    echo "$text" >&2
    next_line=$((elapsed + 30))
  fi
}

# Globs are checked and, where something changed, CMake runs again: what there is to do is then known.
if ! ninja -C "$folder" build.ninja >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "build: CMake could not configure $folder; the whole log is $log" >&2
  exit 1
fi

began=$SECONDS
next_line=0
weight_done=0
first_guess_ms=0
started=no
average=0
line=""
steps_done=0
steps=0

handle() {
  echo "$1" >>"$log"
  [[ $1 =~ ^\[([0-9]+)/([0-9]+)\]\ (.*)$ ]] || return
  steps_done=${BASH_REMATCH[1]} steps=${BASH_REMATCH[2]}
  local what=${BASH_REMATCH[3]}
  [[ $what != "Re-checking"* && $what != "Re-running"* ]] || return
  if [ "$started" = no ]; then
    started=yes
    weigh "${targets[@]}"
    # Where most of it is built already, only the number of steps is known.
    if [ "$steps" -lt ${#weights[@]} ]; then
      average=$((weight_of_all / ${#weights[@]}))
      weight_of_all=$((steps * average))
      weights=()
    fi
    first_guess_ms=$((weight_of_all * kMillisecondsPerWeight / cores))
    [ $((first_guess_ms / 1000)) -lt 5 ] ||
      echo "building: about $(in_words $((first_guess_ms / 1000))) on $cores cores" >&2
  fi
  if [ ${#weights[@]} -eq 0 ]; then
    weight_done=$((steps_done * average))
  elif [[ $what == *.o ]]; then
    weight_done=$((weight_done + ${weights[${what##* }]:-0}))
  fi
  show "$steps_done" "$steps"
}

code=1
begun=""  # what came of a line before a second was over
while true; do
  if IFS= read -r -t 1 line <&3; then
    case $begun$line in
      "weft-build-exit "*) code=${line##* } ;;
      *) handle "$begun$line" ;;
    esac
    begun=""
  elif [ $? -le 128 ]; then
    break
  else
    begun+=$line
    if [ "$started" = yes ] && [ -t 2 ]; then
      show "$steps_done" "$steps"
    fi
  fi
done 3< <(NINJA_STATUS='[%f/%t] ' ninja -C "$folder" "${targets[@]}" 2>&1
  echo "weft-build-exit $?")

[ "$started" = no ] || [ ! -t 2 ] || printf '\r%-79s\r' "" >&2
if [ "$code" -ne 0 ]; then
  grep -v '^\[[0-9]*/[0-9]*\] ' "$log" | tail -n 60 >&2
  echo "build: failed; all that the compiler said is in $log" >&2
elif [ "$started" = yes ]; then
  echo "built $steps steps in $(in_words $((SECONDS - began)))" >&2
fi
exit "$code"
