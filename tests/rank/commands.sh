#!/bin/sh
# Commands under mpirun: the same bytes for any number of ranks, one voice, one status.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
PATH=$BANG_BUILD:$PATH
export PATH
failed=0

fail() {
    echo "$*"
    [ ! -s err ] || cat err
    failed=1
}

ranks() { # COUNT COMMAND ...: as ranks, messages to err
    count=$1
    shift
    timeout 250 "$here/mpirun" "$count" "$@" 2>err
}

# what a command says on standard error, without what mpirun adds to it
says() { # WHAT LINE ...
    what=$1
    shift
    printf '%s\n' "$@" >wanted
    grep '^bang' err >said
    cmp -s wanted said || fail "$what: said other things than: $*"
}

bang simulate --example 1-2 --runs 10 --json >one
for count in 1 2 4; do
    ranks $count bang simulate --example 1-2 --runs 10 --json >many || fail "simulate: exit $?"
    cmp one many || fail "simulate: $count ranks"
done
# fewer runs than ranks
bang simulate --example 1-2 --runs 2 >one
ranks 4 bang simulate --example 1-2 --runs 2 >many || fail "simulate: exit $?"
cmp one many || fail "simulate: two runs, four ranks"

# ranks that mean different things, and different commands
ranks 1 bang simulate --example 1-2 --runs 4 : -n 1 bang simulate --example 1-2 --runs 4 --seed 2 >many
[ $? -eq 2 ] || fail "simulate, two seeds: another status than 2"
[ ! -s many ] || fail "simulate, two seeds: something on standard output"
says "simulate, two seeds" 'bang simulate: rank 1: this rank is to do something else than rank 0: seed: 1 there, 2 now: give all ranks the same options, data and network'
for model in 1,2 1,3; do
    ranks 1 bang simulate -p .9 --model 1,2 --runs 2 : -n 1 bang simulate -p .9 --model $model --runs 2 >many
    code=$?
    case $model in 1,2) [ $code -eq 0 ] ;; *) [ $code -eq 2 ] && grep -q 'rank 0: features: not the same' err ;; esac ||
        fail "simulate, models 1,2 and $model: exit $code"
done
ranks 1 bang simulate --example 1-2 --runs 4 : -n 1 bang predict --model nowhere >many
[ $? -eq 2 ] || fail "two commands: another status than 2"
[ ! -s many ] || fail "two commands: something on standard output"
says "two commands" 'bang: rank 1: runs another command than rank 0: predict, not simulate: start all ranks with the same command'
ranks 1 bang theory -p .9 --model 1,5 : -n 1 bang train --data nowhere >many
[ $? -eq 2 ] || fail "a command of one process, another of many: another status than 2"

ranks 3 bang simulate --runs some >many
[ $? -eq 2 ] || fail "usage: another status than 2"
[ ! -s many ] || fail "usage: something on standard output"
bang simulate --runs some 2>one
grep '^bang' err | cmp -s one - || fail "usage: other problems than alone"

# commands that one process does
bang --version >one
ranks 2 bang --version >many || fail "--version: exit $?"
cmp one many || fail "--version"
bang theory -p .9 --model 1,5 >one
ranks 2 bang theory -p .9 --model 1,5 >many || fail "theory: exit $?"
cmp one many || fail "theory"
says theory 'bang theory: note: works in one process: the other waits for it'
ranks 2 bang inspect nowhere -q >many
[ $? -eq 1 ] || fail "inspect: another status than 1"
says inspect 'bang inspect: nowhere: No such file or directory'

# another MPI's launcher: its processes are alone for this one (what OpenMPI keeps is no leak of ours)
for process in 0 1 2; do
    ASAN_OPTIONS=detect_leaks=0 PMI_RANK=$process PMI_SIZE=3 bang simulate --example 1-2 --runs 1 >many 2>err
    [ $? -eq 2 ] || fail "another launcher: another status than 2"
    [ ! -s many ] || fail "another launcher: something on standard output"
    grep -q '^bang: ranks: the launcher started 3 processes, but each is alone' err
    [ $? -eq $((process > 0)) ] || fail "another launcher: process $process: not said once"
done
# srun that does not speak to MPI: said once; a job's script is alone
apart='bang simulate: note: srun started 3 processes that do not know of each other: each does the whole work: to share it say srun --mpi=pmix'
SLURM_NTASKS=3 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=3 bang simulate --example 1-2 --runs 1 >many 2>err || fail "srun: exit $?"
says "srun" "$apart"
for task in SLURM_PROCID=1\ SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=0\ SLURM_STEP_NUM_TASKS=1 \
    SLURM_PROCID=0\ SLURM_NTASKS=3 SLURM_STEP_NUM_TASKS=3; do
    # shellcheck disable=SC2086
    env $task bang simulate --example 1-2 --runs 1 >many 2>err || fail "$task: exit $?"
    [ ! -s err ] || fail "$task: says something"
done

# a run of experiments, whole, and one that loses a rank and goes on with another number of them
# shellcheck source=/dev/null
. "$here/../cli/digits.inc"
set -- bang reproduce multicolor-average two-layer --seeds 4 --models 1
"$@" --threads 1 -o alone --quiet || fail "reproduce: exit $?"
for count in 2 4; do
    ranks $count "$@" -o many-"$count" --quiet || fail "reproduce: exit $?"
    cmp alone/results.jsonl many-"$count"/results.jsonl || fail "reproduce: $count ranks"
    cmp alone/report.html many-"$count"/report.html || fail "reproduce: $count ranks, report"
done

# a rank with other digits than rank 0 would mix its records with theirs
cp -r digits other-digits
{ head -c 1000 digits/train-images-idx3-ubyte && printf 'x' && tail -c +1002 digits/train-images-idx3-ubyte; } \
    >other-digits/train-images-idx3-ubyte
BANG_CACHE=$work/other-cache bang data get mnist --from other-digits -q || fail "other digits: exit $?"
ranks 1 "$@" -o mixed --quiet : -n 1 env "BANG_CACHE=$work/other-cache" "$@" -o mixed --quiet >many
[ $? -eq 2 ] || fail "other digits: another status than 2"
says "other digits" 'bang reproduce: rank 1: this rank is to do something else than rank 0: mnist: not the same: give all ranks the same options, data and network'
grep -qs seed mixed/results.jsonl && fail "other digits: there are records"

grep -q '"key": *"multicolor-average"' alone/results.jsonl || fail "no summary of the first experiment"
# Kills RANK of a run while it is certain to be needed: it is stopped first, and no rank leaves the
# first experiment before that one's summary is there. Whoever was too late tries again.
kill_one() { # RANK COMMAND ...: status of the launcher into code
    victim=$1
    shift
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        rm -rf lost process-*
        # Every rank says which process it is; $$ is for it to see.
        # shellcheck disable=SC2016
        ranks 3 sh -c 'echo $$ >process-$OMPI_COMM_WORLD_RANK; exec "$@"' - \
            "$@" -o lost --quiet >many &
        launcher=$!
        until [ -s lost/results.jsonl ] || ! kill -0 $launcher 2>/dev/null; do sleep .02; done
        kill -0 $launcher 2>/dev/null || { wait $launcher; continue; } # its ranks are gone, too
        kill -STOP "$(cat "process-$victim")"
        early=1
        grep -q '"key": *"multicolor-average"' lost/results.jsonl && early=0
        kill -9 "$(cat "process-$victim")"
        wait $launcher
        code=$?
        [ $early -eq 0 ] || return
    done
    fail "rank $victim: was always done before it was killed"
}

lose() { # RANK HOW_MANY COMMAND ...: RANK is killed when the first record is there
    victim=$1 others=$2
    shift 2
    kill_one "$victim" "$@"
    [ "$code" -eq 137 ] || fail "rank $victim was killed: exit $code"
    grep -q "^bang reproduce: rank $victim has ended in the middle of the work: " err ||
        fail "rank $victim was killed: nobody says so"
    [ "$(grep -c '^bang reproduce: .*: go on with --resume$' err)" -eq 1 ] ||
        fail "rank $victim was killed: nobody says how to go on"
    ranks "$others" "$@" -o lost --resume --quiet >many || fail "resumed: exit $?"
    cmp alone/results.jsonl lost/results.jsonl || fail "rank $victim was killed: resumed with $others"
    [ "$(find lost -name '.*' -type f)" = '' ] || fail "rank $victim was killed: files left over"
}
lose 2 2 "$@"
lose 0 4 "$@"
exit $failed
