#!/bin/sh
# Every script passes shellcheck. Cases of the command line (tests/cli) have no
# first line of their own: run.sh reads them in. Python is not its business.
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}" || exit 1
command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
failed=0
for script in $(find tests -name '*.sh' | sort) tools/* packaging/make-deb packaging/debian/*.p* .ci/run \
    examples/slurm/*.sbatch; do
    case $(head -n 1 "$script") in
    '#!'*python*) ;;
    '#!'*) shellcheck -x "$script" || failed=1 ;;
    *) case $script in
        *.sh) shellcheck -s sh "$script" || failed=1 ;;
        *.bash-completion) shellcheck -s bash "$script" || failed=1 ;;
        esac ;;
    esac
done
exit $failed
