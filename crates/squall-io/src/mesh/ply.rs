//! PLY: vertices (x, y, z) and faces (`vertex_indices` or `vertex_index`); other elements and properties are passed over.

use super::LoadedMesh;
use super::build::{Builder, Fault, MOST, Words, quote};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Kind {
    fn new(name: &[u8]) -> Option<Kind> {
        Some(match name {
            b"char" | b"int8" => Kind::I8,
            b"uchar" | b"uint8" => Kind::U8,
            b"short" | b"int16" => Kind::I16,
            b"ushort" | b"uint16" => Kind::U16,
            b"int" | b"int32" => Kind::I32,
            b"uint" | b"uint32" => Kind::U32,
            b"float" | b"float32" => Kind::F32,
            b"double" | b"float64" => Kind::F64,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::F64 => 8,
        }
    }
}

pub struct Property {
    pub name: Vec<u8>,
    /// What counts the items of a list; none for a single number.
    pub list: Option<Kind>,
    pub kind: Kind,
}

pub struct Element {
    pub name: Vec<u8>,
    pub count: usize,
    pub properties: Vec<Property>,
}

/// What a file says before its numbers.
pub struct Header<'a> {
    pub elements: Vec<Element>,
    /// What stands after the word `comment`.
    pub comments: Vec<&'a [u8]>,
    pub numbers: Numbers<'a>,
    /// Bytes of the numbers.
    size: usize,
}

/// The numbers after the header, one by one.
pub enum Numbers<'a> {
    Text(Words<'a>),
    Binary { data: &'a [u8], at: usize, big_endian: bool },
}

impl Numbers<'_> {
    fn next(&mut self, kind: Kind) -> Result<f64, Fault> {
        match self {
            Numbers::Text(words) => words.number("a number"),
            Numbers::Binary { data, at, big_endian } => {
                let Some(bytes) = data.get(*at..*at + kind.bytes()) else {
                    return Err(Fault::at(*at, "the file ends too early: is it whole?"));
                };
                *at += kind.bytes();
                // To little endian, in eight bytes.
                let mut little = [0; 8];
                for (i, &byte) in bytes.iter().enumerate() {
                    little[if *big_endian { bytes.len() - 1 - i } else { i }] = byte;
                }
                let [a, b, c, d, ..] = little;
                Ok(match kind {
                    Kind::I8 => f64::from(a as i8),
                    Kind::U8 => f64::from(a),
                    Kind::I16 => f64::from(i16::from_le_bytes([a, b])),
                    Kind::U16 => f64::from(u16::from_le_bytes([a, b])),
                    Kind::I32 => f64::from(i32::from_le_bytes([a, b, c, d])),
                    Kind::U32 => f64::from(u32::from_le_bytes([a, b, c, d])),
                    Kind::F32 => f64::from(f32::from_le_bytes([a, b, c, d])),
                    Kind::F64 => f64::from_le_bytes(little),
                })
            }
        }
    }

    fn fault(&self, what: impl Into<String>) -> Fault {
        match self {
            Numbers::Text(words) => Fault::line(words.line(), what),
            Numbers::Binary { at, .. } => Fault::at(*at, what),
        }
    }

    /// The least number of bytes that a property takes.
    fn least(&self, property: &Property) -> usize {
        match self {
            // A digit and a blank.
            Numbers::Text(_) => 2,
            Numbers::Binary { .. } => property.list.unwrap_or(property.kind).bytes(),
        }
    }
}

pub fn parse(data: &[u8]) -> Result<LoadedMesh, Fault> {
    let Header { elements, mut numbers, size, .. } = header(data)?;
    // A lie in the header must not cost memory or time.
    for element in &elements {
        let least: usize = element.properties.iter().map(|property| numbers.least(property)).sum();
        // The last number of a text needs no blank.
        if element.count.checked_mul(least).is_none_or(|least| least > size + 1) {
            let name = quote(&element.name);
            return Err(Fault::whole(format!(
                "{} elements {name} do not fit into the file: is it whole?",
                element.count
            )));
        }
    }
    let mut mesh = Builder::new(true);
    // Faces may stand before the vertices that they name.
    let mut faces: Vec<u32> = Vec::new();
    let mut sizes: Vec<u32> = Vec::new();
    for element in &elements {
        let axes: [Option<usize>; 3] =
            [b"x", b"y", b"z"].map(|axis| element.properties.iter().position(|p| p.name == axis && p.list.is_none()));
        let is_vertex = element.name == b"vertex";
        if is_vertex && axes.contains(&None) {
            return Err(Fault::whole("its vertices lack x, y or z"));
        }
        for _ in 0..element.count {
            let mut vertex = [0.0; 3];
            for (i, property) in element.properties.iter().enumerate() {
                let Some(count_kind) = property.list else {
                    let value = numbers.next(property.kind)?;
                    if let Some(axis) = axes.iter().position(|&axis| axis == Some(i)) {
                        vertex[axis] = value;
                    }
                    continue;
                };
                let wanted =
                    element.name == b"face" && [&b"vertex_indices"[..], b"vertex_index"].contains(&&*property.name);
                let count = {
                    let value = numbers.next(count_kind)?;
                    whole(&numbers, value)?
                };
                // A count that lies ends with the file; what is counted in text must not take all memory.
                if wanted && faces.len() + count as usize > 4 * MOST {
                    return Err(
                        numbers.fault(format!("its faces have more than {} corners: simplify the mesh", 4 * MOST))
                    );
                }
                for _ in 0..count {
                    let value = numbers.next(property.kind)?;
                    if wanted {
                        faces.push(whole(&numbers, value)?);
                    }
                }
                if wanted {
                    sizes.push(count);
                }
            }
            if is_vertex {
                mesh.vertex(vertex).map_err(|what| numbers.fault(what))?;
            }
        }
    }
    let mut rest = faces.as_slice();
    for (i, size) in sizes.into_iter().enumerate() {
        let (face, others) = rest.split_at(size as usize);
        mesh.polygon(face).map_err(|what| Fault::whole(format!("face {} (from 1): {what}", i + 1)))?;
        rest = others;
    }
    if elements.iter().any(|element| element.name == b"tristrips") {
        mesh.notes.push("triangle strips were passed over".into());
    }
    mesh.finish()
}

/// A number that must be a count or an index.
fn whole(numbers: &Numbers, value: f64) -> Result<u32, Fault> {
    if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) {
        return Ok(value as u32);
    }
    Err(numbers.fault(format!("{value} is neither a count nor the number of a vertex")))
}

pub fn header(data: &[u8]) -> Result<Header<'_>, Fault> {
    let mut comments = Vec::new();
    let mut elements: Vec<Element> = Vec::new();
    let mut format = None;
    let mut at = 0;
    let mut line_number = 0;
    loop {
        line_number += 1;
        let Some(length) = data[at..].iter().position(|&byte| byte == b'\n') else {
            return Err(Fault::line(line_number, "the header has no end: a line \"end_header\" is missing"));
        };
        let line = data[at..at + length].trim_ascii();
        let words: Vec<&[u8]> = Words::new(line, 1).collect();
        at += length + 1;
        let fault = |what: String| Fault::line(line_number, what);
        let bad_kind = |word: &[u8]| fault(format!("{} is no type of number", quote(word)));
        match words.as_slice() {
            [b"comment", ..] => comments.push(line[b"comment".len()..].trim_ascii_start()),
            [b"ply"] | [] | [b"obj_info", ..] => {}
            [b"format", name, _] => format = Some(*name),
            [b"element", name, count] => {
                let parsed = std::str::from_utf8(count).ok().and_then(|count| count.parse().ok());
                let count = parsed.ok_or_else(|| fault(format!("{} is no count", quote(count))))?;
                elements.push(Element { name: name.to_vec(), count, properties: Vec::new() });
            }
            [b"property", definition @ ..] => {
                let (list, kind, name) = match definition {
                    [b"list", count, kind, name] => {
                        (Some(Kind::new(count).ok_or_else(|| bad_kind(count))?), kind, name)
                    }
                    [kind, name] => (None, kind, name),
                    _ => return Err(fault("a property needs a type and a name".into())),
                };
                let kind = Kind::new(kind).ok_or_else(|| bad_kind(kind))?;
                let Some(element) = elements.last_mut() else {
                    return Err(fault("a property before any element".into()));
                };
                element.properties.push(Property { name: name.to_vec(), list, kind });
            }
            [b"end_header"] => {
                if let Some(empty) = elements.iter().find(|element| element.properties.is_empty() && element.count > 0)
                {
                    return Err(fault(format!("element {} has no properties", quote(&empty.name))));
                }
                let body = &data[at..];
                let numbers = match format {
                    Some(b"ascii") => Numbers::Text(Words::new(body, line_number + 1)),
                    Some(b"binary_little_endian") => Numbers::Binary { data, at, big_endian: false },
                    Some(b"binary_big_endian") => Numbers::Binary { data, at, big_endian: true },
                    _ => {
                        return Err(fault(
                            "the format is neither ascii nor binary_little_endian nor binary_big_endian".into(),
                        ));
                    }
                };
                return Ok(Header { elements, comments, numbers, size: body.len() });
            }
            [other, ..] => return Err(fault(format!("{} means nothing here", quote(other)))),
        }
    }
}
