#!/usr/bin/env bash
# Takes the calibration to a GPU machine that has CUDA's libraries and little else, and runs all of
# it there.
#   calibrate/run_on_gpu.sh pack DIR [BUILD]
#       here: copies programs and profiles into DIR; without BUILD, a folder that is built already,
#       it builds first
#   DIR/run_on_gpu.sh run OUT [within SECONDS] [quick] [only STAGE...]
#       there: writes at most eight files into OUT
# Stages in their order: smoke, check, sweep, profile, validate, torch, again, collectives, sanitizer.
# One that fails or runs out of time keeps what it has and does not end the others; a sweep goes on
# from the samples that are in OUT already. Of a stage's time, what the stages after it need at least
# is not spent. Exit code 5 without a GPU, 1 where a stage found something wrong.
#
# docs/calibration.md, "One visit", says how to divide the time on a node.
set -euo pipefail

readonly stages_known="smoke check sweep profile validate torch again collectives sanitizer"
readonly scenarios="llama3-70b-64h100 llama3-405b-16k"  # whose shapes a full sweep measures first

die() {
  echo "run_on_gpu.sh: $*" >&2
  exit 2
}

# ---------------------------------------------------------------------------------------------- pack

# Every machine that runs CUDA 13 has these, or they are far too large to carry.
readonly of_system='ld-linux|lib(c|m|dl|rt|pthread|resolv)[.]'
readonly of_cuda='lib(cuda|cudart|cublas|cublasLt|cudnn|nccl|nvrtc)[.]'

pack() {
  local build=${2:-} here program name path newest
  mkdir -p "$1"
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  if [[ -z $build ]]; then
    "$here/scripts/cudnn-frontend"
    "$here/scripts/build" release orrery orrery-calibrate
    build=$here/build/release
  fi
  staged=$(mktemp -d)
  trap 'rm -rf "${staged:?}"' EXIT  # not local: it is read at the end
  mkdir "$staged"/{bin,lib,lib-cxx,scenarios}
  for program in orrery orrery-calibrate orrery-calibrate-cuda; do
    [[ -x $build/bin/$program ]] || die "$build/bin/$program is not built: no CUDA toolkit here?"
    strip --strip-unneeded -o "$staged/bin/$program" "$build/bin/$program"
  done
  # Attention of our own would make a profile that no training run reaches.
  "$build/bin/orrery-calibrate-cuda" --machine | grep -q '"cudnn_attention": true' ||
    die "$build has no attention through cuDNN: scripts/cudnn-frontend gets its headers, and" \
      "libcudnn.so.9 must be where the loader finds it; then build again"
  while read -r name path; do
    if [[ $name =~ ^lib(stdc\+\+|gcc_s)[.] ]]; then
      cp "$path" "$staged/lib-cxx/"  # used only where that machine's are too old
    elif [[ ! $name =~ ^($of_system|$of_cuda) ]]; then
      cp "$path" "$staged/lib/"
    fi
  done < <(ldd "$build"/bin/orrery{,-calibrate,-calibrate-cuda} |
    awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}' | sort -u)
  cp -r "$here/scenarios/profiles" "$staged/scenarios/"
  for name in $scenarios; do
    cp "$here/scenarios/$name.yaml" "$staged/scenarios/"
  done
  cp "$here"/calibrate/{smoke,torch_step}.py "$staged/"
  tar -C "$staged" -czf "$1/programs.tar.gz" .
  cp "$here/calibrate/run_on_gpu.sh" "$1/"
  newest=$(cat "$staged"/bin/* "$staged"/lib/* | grep -aoE 'GLIBC_2[.][0-9]+' | sort -Vu | tail -n 1)
  echo "packed $(du -sh "$1" | cut -f1) into $1" >&2
  echo "that machine needs ${newest/_/ } and the libraries of CUDA 13" >&2
}

# ------------------------------------------------------------------------------------- that machine

# Folders that hold CUDA's libraries there: those of Python's packages, the toolkit's, the system's.
# Not compat/: its driver library comes before the machine's own, and often is older than its kernel
# module wants (error 803).
library_folders() {
  local roots=()
  if command -v python3 >/dev/null; then
    mapfile -t roots < <(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' || true)
  fi
  roots+=(/usr/local/cuda* /opt /usr/local/nvidia /usr/lib /usr/lib64)
  find -H "${roots[@]}" '(' -name 'libcublas*.so.13' -o -name libnvrtc.so.13 -o -name libcudnn.so.9 \
    -o -name libnccl.so.2 -o -name libcuda.so.1 -o -name libnvidia-ml.so.1 ')' \
    -not -path '*/stubs/*' -not -path '*/compat/*' -printf '%h\n' 2>/dev/null |
    awk '!seen[$0]++' | paste -sd: || true
}

# The folders with which the program starts: those above, the same in the reverse order, and both
# with our C++ library.
choose_libraries() {
  local folders reverse candidate
  folders=$(library_folders)
  reverse=$(tr : '\n' <<<"$folders" | tac | paste -sd: -)
  for candidate in "$folders" "$reverse" "$here/lib-cxx:$folders" "$here/lib-cxx:$reverse"; do
    libraries=$here/lib:$candidate${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    if LD_LIBRARY_PATH=$libraries "$here/bin/orrery-calibrate-cuda" --machine >>"$report" 2>&1; then
      return
    fi
  done
  LD_LIBRARY_PATH=$here/lib:$folders ldd "$here/bin/orrery-calibrate-cuda" |
    awk '/not found/ {missing = missing " " $1}
         END {print "run_on_gpu.sh: this machine lacks" (missing ? missing : " something")}' |
    tee -a "$report" >&2
  exit 5
}

# -------------------------------------------------------------------------------------------- stages

# Seconds without which a stage is not worth its start.
least_of() {
  case $1 in
    smoke) echo 15 ;;
    check | collectives) echo 30 ;;
    sweep) echo $((${#depth[@]} ? 50 : 90)) ;;
    profile) echo 15 ;;
    validate) echo $((${#depth[@]} ? 35 : 170)) ;;  # 16 steps of 5.5 s, and 190 kernels; or 2 and 20
    torch | again) echo 60 ;;
    *) echo 0 ;;  # what is left over
  esac
}

# What the wanted stages after this one need, as far as this one has what it needs: it is worth more.
reserve_after() {
  local name sum=0 after=0 most
  ((within > 0)) || { echo 0; return; }
  for name in $stages_known; do
    if ((after)) && wanted "$name"; then
      sum=$((sum + $(least_of "$name")))
    fi
    [[ $name != "$1" ]] || after=1
  done
  most=$(($(seconds_left) - $(least_of "$1")))
  most=$((most > 0 ? most : 0))
  echo $((sum < most ? sum : most))
}

seconds_left() {
  echo $((within > 0 ? within - SECONDS : 1000000))
}

# stage NAME MOST COMMAND...: output to the report, one line on the screen. Needs 5 s; sets `code`.
# `reserve` seconds are left for what comes after.
stage() {
  local name=$1 most=$2 begin=$SECONDS left
  shift 2
  left=$(($(seconds_left) - reserve))
  code=0
  if ((left < 5)); then
    code=124
    printf '%-12s left out: no time\n' "$name" | tee -a "$report"
    return
  fi
  printf '\n== %s\n' "$name" >>"$report"
  ((most < left)) || most=$left
  timeout --signal=INT --kill-after=15 "$most" "$@" >>"$report" 2>&1 || code=$?
  printf '%-12s %4d s  exit %d\n' "$name" $((SECONDS - begin)) "$code" | tee -a "$report"
  ((code == 0)) || worst=1
}

ours() {
  stage "$1" "$2" env LD_LIBRARY_PATH="$libraries" ORRERY_PROFILES="$here/scenarios/profiles" \
    "${@:3}"
}

wanted() {
  [[ " $only " == *" $1 "* ]]
}

machine() {
  uname -a
  grep -m1 'model name' /proc/cpuinfo || true
  nvidia-smi || /usr/local/nvidia/bin/nvidia-smi || true
  nvidia-smi -q -d CLOCK,POWER,PERFORMANCE || true
  LD_LIBRARY_PATH=$libraries ldd "$here/bin/orrery-calibrate-cuda" || true
}

# Whether the profile holds all samples. One of an earlier, shorter sweep stays until there is a
# better one.
profile_is_current() {
  [[ -f $out/measured.yaml && ! $out/measured.samples.jsonl -nt $out/measured.yaml ]]
}

# A process whose GPU was lost cannot go on; another one leaves out what lost it.
sweep() {
  local attempt name shapes=()
  if ((${#depth[@]} == 0)); then
    for name in $scenarios; do
      shapes+=(--scenario "$here/scenarios/$name.yaml")
    done
  fi
  for attempt in 1 2 3 4 5 6; do
    ours sweep "$1" "$calibrate" "${depth[@]}" -q -o "$out/measured.yaml" --seed "$attempt" \
      "${shapes[@]}"
    # Done, out of time, no GPU or bad input: nothing that another attempt changes.
    # A library that takes the process with it is left out after the second time.
    if [[ $code =~ ^(0|2|3|124|130|137)$ ]] || profile_is_current; then
      return
    fi
  done
}

profile() {
  if [[ -f $out/measured.samples.jsonl ]] && ! profile_is_current; then
    ours profile 30 "$calibrate" --samples "$out/measured.samples.jsonl" -o "$out/measured.yaml"
  fi
}

validate() {
  local torch=()
  if [[ ! -f $out/measured.yaml ]]; then
    return
  fi
  if [[ -f $out/torch_step.json ]]; then
    torch=(--torch "$out/torch_step.json")
  fi
  # Why cuBLASLt refuses a product of a step is in its log alone.
  CUBLASLT_LOG_LEVEL=1 CUBLASLT_LOG_FILE=$work/cublaslt.log \
    ours validate "$1" "$here/bin/orrery" validate --hardware "$out/measured.yaml" -q --rows \
    "${depth[@]}" "${loop[@]}" -o "$out/validation.yaml" "${torch[@]}"
  if [[ -s $work/cublaslt.log ]]; then
    printf '\n== cublaslt\n' >>"$report"
    head -c 4000 "$work/cublaslt.log" >>"$report"
  fi
  if ((code > 1)) && [[ -f $out/validation.yaml ]]; then
    reserve=0
    ours compare_steps 30 "$here/bin/orrery" validate --hardware "$out/measured.yaml" --rows \
      --record "$out/validation.yaml" "${torch[@]}"
  fi
}

again() {
  ours again "$1" "$calibrate" --quick --seed 2 -q -o "$work/again.yaml"
  cp "$work/again.samples.jsonl" "$out/" 2>/dev/null || true
  if [[ -f $work/again.yaml && -f $out/measured.yaml ]]; then
    ours compare 30 "$here/bin/orrery" compare "$out/measured.yaml" "$work/again.yaml"
  fi
}

# Every gate, once PyTorch or the second sweep have given theirs.
gates() {
  local evidence=()
  if [[ -f $out/torch_step.json ]]; then
    evidence+=(--torch "$out/torch_step.json")
  fi
  if [[ -f $work/again.yaml ]]; then
    evidence+=(--again "$work/again.yaml")
  fi
  if [[ -f $out/validation.yaml && -f $out/measured.yaml ]] && ((${#evidence[@]} > 0)); then
    ours gates 30 "$here/bin/orrery" validate --hardware "$out/measured.yaml" \
      --record "$out/validation.yaml" "${evidence[@]}"
  fi
}

# With one GPU two processes share it, each as if on a host of its own: the calls work, times mean
# nothing.
collectives() {
  local second pair=(--collectives --meet "file:$work/meet" --ranks 2 --local-rank 0 -q)
  ours one_rank "$1" "$calibrate" --collectives -q -o "$work/one.yaml"
  export NCCL_DEBUG=WARN
  NCCL_HOSTID=second LD_LIBRARY_PATH=$libraries timeout --kill-after=5 "$1" \
    "$calibrate" "${pair[@]}" --rank 1 -o "$work/second.yaml" >"$work/second.log" 2>&1 &
  second=$!
  NCCL_HOSTID=first ours two_ranks "$1" "$calibrate" "${pair[@]}" --rank 0 -o "$work/two.yaml"
  kill "$second" 2>/dev/null || true
  wait "$second" || true
  tail -n 40 "$work/second.log" >>"$report"
  cp "$work/two.samples.jsonl" "$out/collectives.samples.jsonl" 2>/dev/null || true
}

# The part of the report between one heading and the next, cut to so many bytes: head may leave
# before awk has written all.
part() {
  { awk -v name="== $1" '$0 == name {on = 1; next} /^== / {on = 0} on' "$report" || true; } |
    head -c "$2"
}

run() {
  out=$1
  shift
  local packed
  packed=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  within=0 only=$stages_known depth=() loop=() worst=0 code=0 reserve=0
  while (($#)); do
    case $1 in
      within) within=${2:?within SECONDS}; shift ;;
      quick) depth=(--quick) ;;
      only) shift; only=$*; break ;;
      *) die "what is \`$1\`? (within SECONDS, quick, only STAGE...)" ;;
    esac
    shift
  done
  local name
  for name in $only; do
    [[ " $stages_known " == *" $name "* ]] || die "there is no stage $name ($stages_known)"
  done
  ((within == 0)) || loop=(--loop 2)
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  work=$(mktemp -d)
  trap 'rm -rf "${work:?}"' EXIT
  here=$work/packed
  mkdir "$here"
  tar -C "$here" -xzf "$packed/programs.tar.gz"
  report=$out/report.txt
  calibrate=$here/bin/orrery-calibrate
  printf '== machine\n' >>"$report"
  choose_libraries
  machine >>"$report" 2>&1 || true

  if wanted smoke && command -v python3 >/dev/null; then
    reserve=$(reserve_after smoke)
    stage smoke 30 python3 "$here/smoke.py"
  fi
  if wanted check; then
    reserve=$(reserve_after check)
    ours check 200 "$calibrate" --check -q -o "$out/check.json"
    if ((code == 5)) && [[ ! -s $out/check.json ]]; then
      tail -n 2 "$report" | head -n 1 >&2
      exit 5
    fi
    part check 100000 | grep -A1 '^FAIL' | head -n 40 || true
  fi
  if wanted sweep; then
    reserve=$(reserve_after sweep)
    sweep 420
  fi
  if wanted profile; then
    reserve=0
    profile
  fi
  if wanted validate; then
    reserve=$(reserve_after validate)
    validate 420
  fi
  if wanted torch && command -v python3 >/dev/null; then
    reserve=$(reserve_after torch)
    local cases=()
    if [[ -f $out/validation.yaml ]]; then
      cases=(--cases "$out/validation.yaml")  # the calls that the gates compare
    fi
    stage torch 180 python3 "$here/torch_step.py" --warm-up 3 --loop 3 "${cases[@]}" \
      -o "$out/torch_step.json"
  fi
  if wanted again; then
    reserve=$(reserve_after again)
    again 180
  fi
  gates
  if wanted collectives; then
    reserve=$(reserve_after collectives)
    collectives 60
  fi
  if wanted sanitizer && command -v compute-sanitizer >/dev/null; then
    ours sanitizer 300 compute-sanitizer --error-exitcode 9 "$here/bin/orrery-calibrate-cuda" \
      --check -q
  fi

  cat "$out"/*.running >>"$report" 2>/dev/null && rm "$out"/*.running
  # The end of the screen is what is read: the rates, then the verdict.
  part smoke 3000
  part sweep 5000
  part profile 3000
  if [[ -n $(part gates 10) ]]; then part gates 5000; else part validate 5000; fi
  part compare 1500
  echo
  grep -E '^[a-z_]+ +([0-9]+ s  exit|left out)' "$report"
  du -h "$out"/*
  exit "$worst"
}

case ${1:-} in
  pack) pack "${2:?calibrate/run_on_gpu.sh pack DIR [BUILD]}" "${3:-}" ;;
  run) run "${@:2}" ;;
  *)
    sed -n '2,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
