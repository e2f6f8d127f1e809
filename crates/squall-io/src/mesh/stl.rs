//! STL, text and binary. Corners at the same place become one vertex.

use super::LoadedMesh;
use super::build::{Builder, Fault, Words};
use std::collections::HashMap;

const HEADER: usize = 84;
const TRIANGLE: usize = 50;

pub fn parse(data: &[u8]) -> Result<LoadedMesh, Fault> {
    let count = data.get(80..HEADER).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    let binary_size = count.map(|count| HEADER as u64 + TRIANGLE as u64 * u64::from(count));
    // Some binary files begin with "solid" too: the size decides.
    if binary_size != Some(data.len() as u64) && data.trim_ascii_start().starts_with(b"solid") {
        return parse_text(data);
    }
    match (count, binary_size) {
        (Some(count), Some(size)) if size <= data.len() as u64 => parse_binary(data, count as usize),
        (Some(count), Some(size)) => {
            let what = format!("{count} triangles take {size} bytes, the file has {}: is it whole?", data.len());
            Err(Fault::at(80, what))
        }
        _ => Err(Fault::whole("this is no STL file: it neither begins with \"solid\" nor has 84 bytes")),
    }
}

/// Vertices by their place. Looked up, never gone through: the order of the map does not matter.
#[derive(Default)]
struct Corners {
    known: HashMap<[u64; 3], u32>,
}

impl Corners {
    fn vertex(&mut self, mesh: &mut Builder, at: [f64; 3]) -> Result<u32, String> {
        // Adding 0 makes -0 the same place as 0.
        let place = at.map(|x| (x + 0.0).to_bits());
        if let Some(&vertex) = self.known.get(&place) {
            return Ok(vertex);
        }
        let vertex = mesh.vertex(at)?;
        self.known.insert(place, vertex);
        Ok(vertex)
    }
}

fn parse_binary(data: &[u8], count: usize) -> Result<LoadedMesh, Fault> {
    let mut mesh = Builder::new(true);
    let mut corners = Corners::default();
    for (i, triangle) in data[HEADER..].chunks_exact(TRIANGLE).take(count).enumerate() {
        let fault = |what| Fault::at(HEADER + TRIANGLE * i, what);
        // Normal, three corners, two bytes of anything.
        let (numbers, _) = triangle[12..48].as_chunks::<4>();
        let value = |k: usize| f64::from(f32::from_le_bytes(numbers[k]));
        let mut polygon = [0; 3];
        for (k, vertex) in polygon.iter_mut().enumerate() {
            let at = [value(3 * k), value(3 * k + 1), value(3 * k + 2)];
            *vertex = corners.vertex(&mut mesh, at).map_err(fault)?;
        }
        mesh.polygon(&polygon).map_err(fault)?;
    }
    let rest = data.len() - HEADER - TRIANGLE * count;
    if rest > 0 {
        mesh.notes.push(format!("{rest} bytes after the last triangle were passed over"));
    }
    mesh.finish()
}

fn parse_text(data: &[u8]) -> Result<LoadedMesh, Fault> {
    let mut mesh = Builder::new(true);
    let mut corners = Corners::default();
    let mut polygon = Vec::new();
    let mut words = Words::new(data, 1);
    let mut whole = false;
    while let Some(word) = words.next() {
        match word.to_ascii_lowercase().as_slice() {
            b"outer" => polygon.clear(),
            b"vertex" => {
                let at = [words.number("x")?, words.number("y")?, words.number("z")?];
                polygon.push(corners.vertex(&mut mesh, at).map_err(|what| Fault::line(words.line(), what))?);
            }
            b"endloop" => mesh.polygon(&polygon).map_err(|what| Fault::line(words.line(), what))?,
            // A name follows, which may be any words.
            name @ (b"solid" | b"endsolid") => {
                whole = name == b"endsolid";
                words.skip_line();
            }
            _ => {}
        }
    }
    if !whole {
        return Err(Fault::line(words.line(), "there is no \"endsolid\" at the end: is the file whole?"));
    }
    mesh.finish()
}
