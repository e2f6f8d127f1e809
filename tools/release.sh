#!/usr/bin/env bash
# Makes a release archive: the stripped binary with scenes, documentation, completions and manual pages.
# Usage: tools/release.sh [FOLDER]   [default: target/release-archives]
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
platform=$(rustc -vV | sed -n 's/^host: //p')
name="squall-$version-$platform"
out=${1:-target/release-archives}

cargo build --release -p squall-cli
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/$name/completions" "$work/$name/man"
cp target/release/squall "$work/$name/"
strip "$work/$name/squall"
cp -r scenes docs README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$work/$name/"
"$work/$name/squall" man --out "$work/$name/man"
for shell in bash zsh fish elvish powershell; do
    "$work/$name/squall" completions "$shell" > "$work/$name/completions/squall.$shell"
done
tar -C "$work" -czf "$out/$name.tar.gz" "$name"
(cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
echo "$out/$name.tar.gz"
