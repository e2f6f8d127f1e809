//! Metadata: named values of the file and of each grid.

use std::collections::BTreeMap;
use std::fmt;

use super::wire::{Cursor, Parsed, put_text, put_u32};

/// Names and values, in the order of the names as OpenVDB keeps them.
pub type Metadata = BTreeMap<String, MetaValue>;

/// One value of the metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum MetaValue {
    /// `string`
    Text(String),
    /// `bool`
    Bool(bool),
    /// `int32`
    Int(i32),
    /// `int64`
    Long(i64),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `vec3i`
    Ints([i32; 3]),
    /// `vec3s`
    Floats([f32; 3]),
    /// `vec3d`
    Doubles([f64; 3]),
    /// A type that Squall does not know.
    Other {
        /// The name of the type in the file.
        kind: String,
        /// The value as it stands in the file.
        bytes: Vec<u8>,
    },
}

impl From<&str> for MetaValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for MetaValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Bool(v) => v.fmt(f),
            Self::Int(v) => v.fmt(f),
            Self::Long(v) => v.fmt(f),
            Self::Float(v) => v.fmt(f),
            Self::Double(v) => v.fmt(f),
            Self::Ints(v) => write!(f, "{v:?}"),
            Self::Floats(v) => write!(f, "{v:?}"),
            Self::Doubles(v) => write!(f, "{v:?}"),
            Self::Other { kind, bytes } => write!(f, "{} bytes of {kind}", bytes.len()),
        }
    }
}

pub fn write_metadata(out: &mut Vec<u8>, metadata: &Metadata) {
    put_u32(out, metadata.len() as u32);
    for (name, value) in metadata {
        let (kind, bytes) = match value {
            MetaValue::Text(text) => ("string", text.clone().into_bytes()),
            MetaValue::Bool(v) => ("bool", vec![u8::from(*v)]),
            MetaValue::Int(v) => ("int32", v.to_le_bytes().to_vec()),
            MetaValue::Long(v) => ("int64", v.to_le_bytes().to_vec()),
            MetaValue::Float(v) => ("float", v.to_le_bytes().to_vec()),
            MetaValue::Double(v) => ("double", v.to_le_bytes().to_vec()),
            MetaValue::Ints(v) => ("vec3i", v.map(i32::to_le_bytes).concat()),
            MetaValue::Floats(v) => ("vec3s", v.map(f32::to_le_bytes).concat()),
            MetaValue::Doubles(v) => ("vec3d", v.map(f64::to_le_bytes).concat()),
            MetaValue::Other { kind, bytes } => (kind.as_str(), bytes.clone()),
        };
        put_text(out, name);
        put_text(out, kind);
        put_u32(out, bytes.len() as u32);
        out.extend_from_slice(&bytes);
    }
}

pub fn read_metadata(from: &mut Cursor<'_>) -> Parsed<Metadata> {
    let count = from.u32()?;
    let mut metadata = Metadata::new();
    // Each turn takes bytes or fails: a false count ends with the file.
    for _ in 0..count {
        let name = from.text("the name of a metadata entry")?;
        let kind = from.text("the type of a metadata entry")?;
        let size = from.u32()?;
        let bytes = from.take(size as usize).map_err(|e| format!("metadata `{name}`: {e}"))?;
        let value = value(kind, bytes).map_err(|e| format!("metadata `{name}`: {e}"))?;
        metadata.insert(name, value);
    }
    Ok(metadata)
}

fn value(kind: String, bytes: &[u8]) -> Parsed<MetaValue> {
    let mut from = Cursor::new(bytes);
    Ok(match kind.as_str() {
        "string" => MetaValue::Text(String::from_utf8_lossy(bytes).into_owned()),
        "bool" => MetaValue::Bool(from.u8()? != 0),
        "int32" => MetaValue::Int(from.i32()?),
        "int64" => MetaValue::Long(from.i64()?),
        "float" => MetaValue::Float(from.f32s::<1>()?[0]),
        "double" => MetaValue::Double(from.f64s::<1>()?[0]),
        "vec3i" => MetaValue::Ints(from.i32s()?),
        "vec3s" => MetaValue::Floats(from.f32s()?),
        "vec3d" => MetaValue::Doubles(from.f64s()?),
        _ => MetaValue::Other { kind, bytes: bytes.to_vec() },
    })
}
