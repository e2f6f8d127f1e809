//! A sequence of volumes as USD text: where they are, which way is up, how fast they play.

use std::fmt::Write;
use std::ops::RangeInclusive;

use crate::setup::{Up, Vdb};

/// The stage with one volume, whose fields take their values from one file for each frame.
pub(super) fn volume(vdb: &Vdb, fps: f64, frames: RangeInclusive<u64>, file: impl Fn(u64) -> String) -> String {
    let (first, last) = (*frames.start(), *frames.end());
    let up = if vdb.up == Up::Z { "Z" } else { "Y" };
    let version = env!("CARGO_PKG_VERSION");
    let mut out = format!(
        "#usda 1.0\n(\n    defaultPrim = \"volume\"\n    doc = \"Squall {version}\"\n    endTimeCode = {last}\n    \
         framesPerSecond = {fps}\n    metersPerUnit = 1\n    startTimeCode = {first}\n    timeCodesPerSecond = {fps}\n    \
         upAxis = \"{up}\"\n)\n\ndef Volume \"volume\"\n{{\n"
    );
    // Writing to a string cannot fail.
    for name in &vdb.fields {
        let _ = writeln!(out, "    rel field:{0} = </volume/{0}>", prim(name));
    }
    for name in &vdb.fields {
        let _ = writeln!(out, "\n    def OpenVDBAsset \"{}\"\n    {{", prim(name));
        let _ = writeln!(out, "        token fieldName = {name:?}");
        if name == "velocity" {
            let _ = writeln!(out, "        token vectorDataRoleHint = \"Vector\"");
        }
        let _ = writeln!(out, "        asset filePath = @./{}@", file(first));
        let _ = writeln!(out, "        asset filePath.timeSamples = {{");
        for frame in frames.clone() {
            let _ = writeln!(out, "            {frame}: @./{}@,", file(frame));
        }
        out += "        }\n    }\n";
    }
    out + "}\n"
}

/// A name that USD accepts: letters, digits and underscores, no digit first.
fn prim(name: &str) -> String {
    let mut out: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        out.insert(0, '_');
    }
    out
}
