#!/bin/sh
# Every C file looks as clang-format leaves it (`make format` does that).
set -u
cd "${BANG_SOURCE:-$(dirname "$0")/../..}" || exit 1
command -v clang-format >/dev/null || { echo "clang-format is not installed"; exit 77; }
find src include tests examples -name '*.[ch]' -exec clang-format --dry-run -Werror {} +
