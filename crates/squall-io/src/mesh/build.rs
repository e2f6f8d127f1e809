//! What all readers share: faults, text, and a mesh that grows vertex by vertex.

use super::{LoadedMesh, Place};
use rayon::prelude::*;
use squall_core::shape::TriangleMesh;

/// More vertices or triangles are refused.
pub const MOST: usize = 2_000_000;

/// Polygons with more corners are no fans.
const LARGEST_FAN: usize = 8;

/// Coordinates beyond are refused: their squares must stay numbers.
const FURTHEST: f64 = 1e12;

/// What is wrong with a file, and where.
#[derive(Debug)]
pub struct Fault {
    pub place: Place,
    pub what: String,
}

impl Fault {
    pub fn whole(what: impl Into<String>) -> Self {
        Fault { place: Place::Whole, what: what.into() }
    }

    pub fn at(byte: usize, what: impl Into<String>) -> Self {
        Fault { place: Place::Byte(byte), what: what.into() }
    }

    pub fn line(line: usize, what: impl Into<String>) -> Self {
        Fault { place: Place::Line(line), what: what.into() }
    }
}

/// The start of a word from a file, fit for a message.
pub fn quote(word: &[u8]) -> String {
    let text = String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned();
    format!("{text:?}")
}

/// A number in text.
pub fn number(word: &[u8]) -> Result<f64, String> {
    let parsed = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
    parsed.ok_or_else(|| format!("{} is not a number", quote(word)))
}

/// Words of a text, separated by white space, with the line each stands in.
pub struct Words<'a> {
    rest: &'a [u8],
    line: usize,
}

impl<'a> Words<'a> {
    /// The words of `text`, whose first line has that number.
    pub fn new(text: &'a [u8], line: usize) -> Self {
        Words { rest: text, line }
    }

    /// The line reached.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Passes over the rest of the line.
    pub fn skip_line(&mut self) {
        let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
        self.rest = &self.rest[end..];
    }

    /// The next number, called `name` if it is missing.
    pub fn number(&mut self, name: &str) -> Result<f64, Fault> {
        let Some(word) = self.next() else {
            return Err(Fault::line(self.line, format!("the file ends where {name} should be: is it whole?")));
        };
        number(word).map_err(|what| Fault::line(self.line, what))
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|byte| !byte.is_ascii_whitespace());
        let (space, rest) = self.rest.split_at(start.unwrap_or(self.rest.len()));
        self.line += space.iter().filter(|&&byte| byte == b'\n').count();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// A mesh that is being read.
pub struct Builder {
    mesh: TriangleMesh,
    flat: usize,
    /// Whether triangles without area, and those that are there twice, are left out.
    tidy: bool,
    pub notes: Vec<String>,
}

impl Builder {
    /// Nothing yet. `tidy`: triangles without area, and those that are there twice, are left out.
    pub fn new(tidy: bool) -> Self {
        Builder { mesh: TriangleMesh::default(), flat: 0, tidy, notes: Vec::new() }
    }

    /// How many vertices there are so far.
    pub fn vertices(&self) -> usize {
        self.mesh.vertices.len()
    }

    /// Adds a vertex; says what is wrong with it.
    pub fn vertex(&mut self, vertex: [f64; 3]) -> Result<u32, String> {
        // Not a number is not less than anything.
        if !vertex.iter().all(|x| x.abs() <= FURTHEST) {
            return Err(format!("a vertex at {vertex:?} is not in this world: coordinates are metres up to 1e12"));
        }
        if self.mesh.vertices.len() == MOST {
            return Err(format!("there are more than {MOST} vertices: simplify the mesh"));
        }
        self.mesh.vertices.push(vertex);
        Ok(self.mesh.vertices.len() as u32 - 1)
    }

    /// Adds a polygon as triangles; says what is wrong with it. All vertices must be known.
    pub fn polygon(&mut self, corners: &[u32]) -> Result<(), String> {
        if corners.len() < 3 {
            return Err(format!("a face with {} corners: it needs three", corners.len()));
        }
        if let Some(bad) = corners.iter().find(|&&v| v as usize >= self.mesh.vertices.len()) {
            return Err(format!("a face uses vertex {bad} (from 0), but there are {}", self.mesh.vertices.len()));
        }
        if self.mesh.triangles.len() + self.flat + corners.len() - 2 > MOST {
            return Err(format!("there are more than {MOST} triangles: simplify the mesh"));
        }
        if corners.len() <= LARGEST_FAN {
            corners[1..].windows(2).for_each(|pair| self.triangle([corners[0], pair[0], pair[1]]));
        } else {
            self.halved(corners);
        }
        Ok(())
    }

    /// A triangle over the whole of a polygon, and what is left on its two sides: triangles that are as wide as they are long,
    /// where a fan has needles that all meet in one corner.
    fn halved(&mut self, corners: &[u32]) {
        let [first, .., last] = corners else { return };
        if corners.len() < 3 {
            return;
        }
        let middle = corners.len() / 2;
        self.triangle([*first, corners[middle], *last]);
        self.halved(&corners[..=middle]);
        self.halved(&corners[middle..]);
    }

    fn triangle(&mut self, triangle: [u32; 3]) {
        if !self.tidy || has_area(triangle.map(|v| self.mesh.vertices[v as usize])) {
            self.mesh.triangles.push(triangle);
        } else {
            self.flat += 1;
        }
    }

    /// Leaves out triangles that are there already, with the same corners in the same order around.
    fn leave_out_copies(&mut self) {
        let TriangleMesh { vertices, triangles } = &mut self.mesh;
        // Vertices at the same place count as one. Adding 0 makes -0 the same place as 0.
        let place = |v: &u32| vertices[*v as usize].map(|x| (x + 0.0).to_bits());
        let mut sorted: Vec<u32> = (0..vertices.len() as u32).collect();
        sorted.par_sort_unstable_by_key(|v| (place(v), *v));
        let mut same = vec![0; vertices.len()];
        for group in sorted.chunk_by(|a, b| place(a) == place(b)) {
            group.iter().for_each(|&v| same[v as usize] = group[0]);
        }
        let key = |t: &[u32; 3]| {
            let [a, b, c] = t.map(|v| same[v as usize]);
            [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap_or([a, b, c])
        };
        let mut order: Vec<([u32; 3], u32)> = triangles.iter().map(key).zip(0..).collect();
        order.par_sort_unstable();
        let mut keep = vec![true; triangles.len()];
        order.windows(2).filter(|pair| pair[0].0 == pair[1].0).for_each(|pair| keep[pair[1].1 as usize] = false);
        let mut keep = keep.into_iter();
        let before = triangles.len();
        triangles.retain(|_| keep.next().unwrap_or(true));
        if triangles.len() < before {
            self.notes.push(format!("{} triangles that are there twice were left out", before - triangles.len()));
        }
    }

    /// The mesh, unless there is nothing in it.
    pub fn finish(mut self) -> Result<LoadedMesh, Fault> {
        if self.mesh.triangles.is_empty() {
            return Err(Fault::whole(match self.flat {
                0 => "there are no faces in this file".into(),
                flat => format!("none of the {flat} triangles in this file has any area"),
            }));
        }
        if self.tidy {
            self.leave_out_copies();
        }
        if self.flat > 0 {
            self.notes.push(format!("{} triangles without area were left out", self.flat));
        }
        Ok(LoadedMesh { mesh: self.mesh, notes: self.notes })
    }
}

fn has_area([a, b, c]: [[f64; 3]; 3]) -> bool {
    let side = |p: [f64; 3]| [p[0] - a[0], p[1] - a[1], p[2] - a[2]];
    let (u, v) = (side(b), side(c));
    let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    normal != [0.0; 3]
}
