//! Wavefront OBJ: vertices and faces; everything else is passed over.

use super::LoadedMesh;
use super::build::{Builder, Fault, Words, number, quote};
use std::borrow::Cow;

pub fn parse(data: &[u8]) -> Result<LoadedMesh, Fault> {
    let mut mesh = Builder::new(true);
    // Faces may name vertices that come later: vertices first.
    for (line, text) in lines(data) {
        let mut words = Words::new(&text, line);
        if words.next() == Some(b"v") {
            let vertex = [words.number("x")?, words.number("y")?, words.number("z")?];
            mesh.vertex(vertex).map_err(|what| Fault::line(line, what))?;
        }
    }
    let mut so_far = 0;
    let mut corners = Vec::new();
    for (line, text) in lines(data) {
        let mut words = Words::new(&text, line);
        match words.next() {
            Some(b"v") => so_far += 1,
            Some(b"f") => {
                corners.clear();
                for word in words {
                    corners.push(corner(word, so_far, mesh.vertices()).map_err(|what| Fault::line(line, what))?);
                }
                mesh.polygon(&corners).map_err(|what| Fault::line(line, what))?;
            }
            _ => {}
        }
    }
    mesh.finish()
}

/// Lines with the number of their first one, without comments; those that end with a backslash joined to the next.
fn lines(data: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, [u8]>)> {
    let mut physical = data.split(|&byte| byte == b'\n').enumerate();
    std::iter::from_fn(move || {
        let (i, line) = physical.next()?;
        let mut text = Cow::Borrowed(trim(line));
        while text.ends_with(b"\\") {
            let joined = text.to_mut();
            joined.pop();
            joined.push(b' ');
            let Some((_, next)) = physical.next() else { break };
            joined.extend_from_slice(trim(next));
        }
        Some((i + 1, text))
    })
}

fn trim(line: &[u8]) -> &[u8] {
    line.split(|&byte| byte == b'#').next().unwrap_or_default().trim_ascii()
}

/// A vertex of a face: `7`, `7/1/2`, or counted backwards from the last vertex before it: `-1`.
fn corner(word: &[u8], so_far: usize, all: usize) -> Result<u32, String> {
    let index = word.split(|&byte| byte == b'/').next().unwrap_or_default();
    let index = number(index)?;
    let from_zero = if index < 0.0 { so_far as f64 + index } else { index - 1.0 };
    if from_zero.fract() == 0.0 && (0.0..all as f64).contains(&from_zero) {
        return Ok(from_zero as u32);
    }
    Err(format!("{} names no vertex: there are {all}, counted from 1", quote(word)))
}
