#!/usr/bin/env bash
# Takes the calibration to a GPU machine that has CUDA's libraries and little else, and runs all of it
# there: kernels checked, swept twice, validated.
#   calibrate/run_on_gpu.sh pack DIR     here: builds, and copies programs and profiles into DIR
#   DIR/run_on_gpu.sh run OUT [quick]    there: writes profile, samples and reports into OUT
# Each stage writes its log and its exit code; a stage that fails does not end the others.
set -euo pipefail

pack() {
  local target=$1
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  scripts/build release orrery orrery-calibrate
  mkdir -p "$target/bin" "$target/lib" "$target/scenarios"
  cp build/release/bin/orrery build/release/bin/orrery-calibrate* "$target/bin/"
  cp -r scenarios/profiles "$target/scenarios/"
  cp scenarios/llama3-70b-64h100.yaml scenarios/llama3-405b-16k.yaml "$target/scenarios/"
  cp calibrate/run_on_gpu.sh "$target/"
  if [[ -f calibrate/torch_step.py ]]; then
    cp calibrate/torch_step.py "$target/"
  fi
  # What a bare CUDA machine lacks; the C and C++ libraries are taken from there.
  local program library
  for program in "$target"/bin/*; do
    while read -r library; do
      cp --update "$library" "$target/lib/"
    done < <(ldd "$program" | awk '$1 ~ /^lib(yaml-cpp|fmt|tbb)/ {print $3}')
  done
  du -sh "$target" | awk '{print "packed: " $1}' >&2
}

# The folder of the first place that holds a library: the loader's, the toolkit's, Python's wheels.
folder_of() {
  local name=$1 found
  found=$(ldconfig -p 2>/dev/null | awk -v name="$name" '$1 == name {print $NF; exit}')
  if [[ -z $found ]]; then
    found=$(find /usr/local/cuda* /usr/lib /opt -name "$name" 2>/dev/null | head -n 1 || true)
  fi
  if [[ -n $found ]]; then
    dirname "$found"
  fi
}

# stage NAME LIMIT COMMAND...: output to OUT/NAME.log, seconds and exit code on the screen.
stage() {
  local name=$1 limit=$2 code=0 begin=$SECONDS
  shift 2
  timeout --signal=INT --kill-after=20 "$limit" "$@" >"$out/$name.log" 2>&1 || code=$?
  printf '%-14s %4d s  exit %d\n' "$name" $((SECONDS - begin)) "$code" | tee -a "$out/stages.txt"
  if ((code != 0)); then
    tail -n 5 "$out/$name.log"
  fi
}

run() {
  out=$1
  local depth=() here
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  if [[ ${2:-full} == quick ]]; then
    depth=(--quick)
  fi
  local path=$here/lib library folder
  for library in libcublasLt.so.13 libcublas.so.13 libcudnn.so.9 libnccl.so.2 libnvrtc.so.13; do
    folder=$(folder_of "$library")
    if [[ -n $folder ]]; then
      path=$path:$folder
    else
      echo "$library: not found here" | tee -a "$out/stages.txt"
    fi
  done
  export LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export ORRERY_PROFILES=$here/scenarios/profiles
  local calibrate=$here/bin/orrery-calibrate

  stage machine 30 bash -c 'nvidia-smi; nvidia-smi -q -d CLOCK,POWER; uname -a; ldd '"$calibrate"
  stage check 120 "$calibrate" --check -q
  stage check_json 120 "$calibrate" --check -q --json
  if command -v compute-sanitizer >/dev/null; then
    stage sanitizer 240 compute-sanitizer --error-exitcode 9 "$calibrate" --check -q
  else
    echo "compute-sanitizer: not found here" | tee -a "$out/stages.txt"
  fi
  stage sweep 420 "$calibrate" "${depth[@]}" -q -o "$out/measured.yaml" \
    --scenario "$here/scenarios/llama3-70b-64h100.yaml"
  stage sweep_again 180 "$calibrate" --quick --seed 2 -q -o "$out/again.yaml"
  if [[ -f $out/measured.yaml && -f $out/again.yaml ]]; then
    stage compare 30 "$here/bin/orrery" compare "$out/measured.yaml" "$out/again.yaml"
  fi
  if command -v python3 >/dev/null && [[ -f $here/torch_step.py ]]; then
    stage torch 240 python3 "$here/torch_step.py" --warm-up 5 --loop 5 -o "$out/torch_step.json"
  fi
  if [[ -f $out/measured.yaml ]]; then
    local torch=()
    if [[ -f $out/torch_step.json ]]; then
      torch=(--torch "$out/torch_step.json")
    fi
    stage validate 420 "$here/bin/orrery" validate --hardware "$out/measured.yaml" -q --rows \
      "${depth[@]}" -o "$out/validation.yaml" "${torch[@]}"
  fi
  cat "$out/stages.txt"
}

case ${1:-} in
  pack) pack "${2:?calibrate/run_on_gpu.sh pack DIR}" ;;
  run) run "${2:?run_on_gpu.sh run OUT [quick]}" "${3:-full}" ;;
  *)
    sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
