#!/usr/bin/env bash
# Builds the studio as a page: web/dist, three files for any server of files. Needs `rustup target add wasm32-unknown-unknown`.
set -euo pipefail
cd "$(dirname "$0")/.."
target=wasm32-unknown-unknown
out=web/dist
# Four numbers at once, and a stack as large as that of a thread.
RUSTFLAGS="-C target-feature=+simd128" cargo rustc --release --target $target --target-dir target \
    -p squall-studio --bin squall-studio -- -C link-arg=-zstack-size=4194304 -C strip=none
mkdir -p $out
cargo run --release --locked --quiet --manifest-path web/bindgen/Cargo.toml --target-dir target/bindgen -- \
    target/$target/release/squall-studio.wasm $out
cp web/index.html $out/
ls -l $out
