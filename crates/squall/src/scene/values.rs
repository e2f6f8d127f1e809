//! Kinds of values that scenes are made of, besides plain numbers and texts: vectors, angles, colours, numbers over time.

use serde_json::{Value as Json, json};

use super::choices::Interpolation;
use super::kind::{Kind, Plain, Reader};
use super::table::table;
use super::tree::{Node, Value};
use super::write::{Writer, quoted};
use crate::diagnostic::{Span, Spanned};
use crate::setup::{Curve, Resolver};

impl Kind for u32 {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let value = u64::read(node, reader)?;
        // Whatever is larger is beyond every range as well.
        Some(u32::try_from(value).unwrap_or(u32::MAX))
    }
    fn schema() -> Json {
        u64::schema()
    }
    fn kind() -> String {
        u64::kind()
    }
    fn write(&self, _: &Writer) -> String {
        self.to_string()
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        visit(f64::from(*self), span);
    }
}

/// One number per axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vector(pub Vec<Spanned<f64>>);

impl Vector {
    /// From plain numbers.
    pub(crate) fn of(values: &[f64]) -> Self {
        Vector(values.iter().map(|&value| Spanned { value, span: Span::DEFAULT }).collect())
    }

    /// The numbers.
    pub(crate) fn values(&self) -> Vec<f64> {
        self.0.iter().map(|v| v.value).collect()
    }
}

impl std::ops::Deref for Vector {
    type Target = [Spanned<f64>];
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Kind for Vector {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        Vec::read(node, reader).map(Vector)
    }
    fn schema() -> Json {
        Vec::<f64>::schema()
    }
    fn kind() -> String {
        "vector".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        self.0.write(writer)
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        self.0.numbers(span, visit);
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        if !resolver.has_length(self.len(), span, path) {
            *self = resolver.zeros();
        }
    }
}

/// Two numbers, the smaller one first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair(pub [f64; 2]);

impl Kind for Pair {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let list = Vec::<Spanned<f64>>::read(node, reader)?;
        let key = reader.key();
        let [low, high] = list.as_slice() else {
            let message = format!("`{key}` has {}", entries(list.len()));
            let last = key.rsplit('.').next().unwrap_or(&key);
            let help = format!("for example {last} = [0.0, 1.0]");
            reader.problems.error(node.span, message, "expected [low, high]").help(help);
            return None;
        };
        if low.value >= high.value {
            let message = format!("`{key}` goes from {} to {}", low.value, high.value);
            let help = match key.as_str() {
                "picture.range" => {
                    "the first value must be less than the second; to reverse the colours, reverse `picture.map`"
                }
                _ => "the first value must be less than the second",
            };
            reader.problems.error(node.span, message, "low must be below high").help(help);
            return None;
        }
        Some(Pair([low.value, high.value]))
    }
    fn schema() -> Json {
        json!({ "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 })
    }
    fn kind() -> String {
        "two numbers".to_owned()
    }
    fn write(&self, _: &Writer) -> String {
        format!("{:?}", self.0)
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        self.0.iter().for_each(|value| visit(*value, span));
    }
}

/// Degrees about x, y and z; in 2D one number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Angles(pub [f64; 3], bool);

impl Kind for Angles {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        if !matches!(node.value, Value::List(_)) {
            return f64::read(node, reader).map(|angle| Angles([0.0, 0.0, angle], true));
        }
        let list = Vec::<f64>::read(node, reader)?;
        let &[x, y, z] = list.as_slice() else {
            let message = format!("`{}` must be three numbers, or in 2D one", reader.key());
            reader
                .problems
                .error(node.span, message, "degrees")
                .help("for example [0.0, 90.0, 0.0]: about x, y and z, in degrees");
            return None;
        };
        Some(Angles([x, y, z], false))
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "number" }, { "type": "array", "items": { "type": "number" }, "minItems": 3, "maxItems": 3 }] })
    }
    fn kind() -> String {
        "three angles; in 2D one".to_owned()
    }
    fn write(&self, _: &Writer) -> String {
        if self.1 { format!("{:?}", self.0[2]) } else { format!("{:?}", self.0) }
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        let flat = resolver.d == 2;
        if span == Span::DEFAULT {
            self.1 = flat;
        } else if flat != self.1 {
            resolver.wrong_angles(&self.0, span, path);
        }
    }
}

/// A colour, sRGB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Color(pub [u8; 3]);

impl Color {
    /// From `0xrrggbb`.
    pub(crate) const fn hex(c: u32) -> Self {
        Color([(c >> 16) as u8, (c >> 8) as u8, c as u8])
    }
}

impl Kind for Color {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        let text = String::read(node, reader)?;
        let digits = text.strip_prefix('#').unwrap_or("");
        let hex = u32::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        match (digits.len(), hex) {
            (6, Some(c)) => Some(Color::hex(c)),
            (3, Some(c)) => Some(Color([(c >> 8 & 15) as u8 * 17, (c >> 4 & 15) as u8 * 17, (c & 15) as u8 * 17])),
            _ => {
                let message = format!("`{}` is not a colour", text.chars().take(40).collect::<String>());
                reader
                    .problems
                    .error(node.span, message, "not a colour")
                    .help("colours are written \"#rrggbb\", for example \"#ff8800\"");
                None
            }
        }
    }
    fn schema() -> Json {
        json!({ "type": "string", "pattern": "^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$" })
    }
    fn kind() -> String {
        "colour".to_owned()
    }
    fn write(&self, _: &Writer) -> String {
        let [r, g, b] = self.0;
        format!("\"#{r:02x}{g:02x}{b:02x}\"")
    }
}

table! {
    /// A number that changes with time.
    pub struct KeyTable {
        /// Pairs of time and value: [[0.0, 1.0], [2.0, 3.0]]; the value of a vector is a list.
        keys: Vec<Spanned<Vec<Spanned<KeyPart>>>> [] (required "[[0.0, 1.0], [2.0, 3.0]]"),
        /// Interpolation between keyframes.
        ease: Interpolation [] (Interpolation::Smooth),
        /// Repeat the keyframes.
        r#loop: bool [] (false),
    }
}

/// One part of a keyframe: its time, or its value.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyPart {
    /// A number.
    Number(f64),
    /// A vector.
    List(Vec<f64>),
}

impl Kind for KeyPart {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match node.value {
            Value::List(_) => Vec::read(node, reader).map(KeyPart::List),
            _ => f64::read(node, reader).map(KeyPart::Number),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "number" }, Vec::<f64>::schema()] })
    }
    fn kind() -> String {
        "number or list".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            KeyPart::Number(value) => value.write(writer),
            KeyPart::List(list) => list.write(writer),
        }
    }
}

/// What a value over time is: the same for numbers and vectors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Keyframes {
    /// Times and values, in order of time.
    pub keys: Vec<(f64, Vec<f64>)>,
    pub ease: Interpolation,
    pub repeat: bool,
}

impl Keyframes {
    /// Reads `{ keys = ..., ease = ... }`; `wanted` numbers for each value, where that is known.
    fn read(node: &Node, reader: &mut Reader<'_, '_>, wanted: Option<usize>) -> Option<Self> {
        let table = KeyTable::read(node, reader)?;
        let path = reader.key();
        let mut keys: Vec<(f64, Vec<f64>)> = Vec::new();
        let typed = table.keys.as_ref()?;
        for key in typed.iter() {
            let parts: Vec<&KeyPart> = key.iter().map(|part| &part.value).collect();
            let (time, value) = match parts.as_slice() {
                [KeyPart::Number(time), KeyPart::Number(value)] => (*time, vec![*value]),
                [KeyPart::Number(time), KeyPart::List(value)] => (*time, value.clone()),
                _ => {
                    let message = format!("a keyframe of `{path}` is not a pair of time and value");
                    reader
                        .problems
                        .error(key.span, message, "expected [time, value]")
                        .help("for example { keys = [[0.0, 1.0], [2.0, 3.0]] }");
                    return None;
                }
            };
            let count = wanted.or(keys.first().map(|(_, first)| first.len()));
            if count.is_some_and(|count| count != value.len()) {
                let message = format!("a keyframe of `{path}` has {}", entries(value.len()));
                reader
                    .problems
                    .error(
                        key.span,
                        message,
                        if wanted == Some(1) { "expected one number" } else { "not as the first" },
                    )
                    .help("every keyframe has the same number of entries: [[0.0, [0.0, 1.0]], [2.0, [1.0, 1.0]]]");
                return None;
            }
            if keys.last().is_some_and(|(last, _)| *last >= time) {
                let message = format!("`{path}` has a keyframe at {time} s that is not later than the one before");
                reader.problems.error(key.span, message, "too early").help("put keyframes in order of time");
                return None;
            }
            keys.push((time, value));
        }
        if keys.is_empty() {
            reader
                .problems
                .error(typed.span, format!("`{path}` has no keyframes"), "empty")
                .help("for example { keys = [[0.0, 1.0], [2.0, 3.0]] }");
            return None;
        }
        let ease = table.ease.as_ref().map_or(Interpolation::Smooth, |e| e.value);
        Some(Keyframes { keys, ease, repeat: table.r#loop.as_ref().is_some_and(|l| l.value) })
    }

    fn write(&self, writer: &Writer) -> String {
        let keys = self.keys.iter().map(|(time, value)| match value.as_slice() {
            [value] => format!("[{}, {}]", time.write(writer), value.write(writer)),
            list => format!("[{}, {}]", time.write(writer), list.to_vec().write(writer)),
        });
        let repeat = if self.repeat { ", loop = true" } else { "" };
        let keys = keys.collect::<Vec<_>>().join(", ");
        format!("{{ keys = [{keys}], ease = \"{}\"{repeat} }}", self.ease.word())
    }

    /// The curve of one component.
    fn curve(&self, component: usize) -> Curve {
        let keys = self.keys.iter().map(|(time, value)| [*time, value[component]]).collect();
        Curve::keys(keys, self.ease, self.repeat)
    }
}

/// A number that may change with time: a number, keyframes, or an expression of `t`.
#[derive(Clone, Debug, PartialEq)]
pub struct Animated {
    typed: AnimatedText,
    /// What it means, once the scene is completed.
    curve: Curve,
}

#[derive(Clone, Debug, PartialEq)]
enum AnimatedText {
    Number(f64),
    Keys(Keyframes),
    Expression(String),
}

impl Animated {
    /// The same at all times.
    pub(crate) fn constant(value: f64) -> Self {
        Animated { typed: AnimatedText::Number(value), curve: Curve::Constant(value) }
    }
}

impl From<f64> for Animated {
    fn from(value: f64) -> Self {
        Animated::constant(value)
    }
}

const ANIMATED: &str =
    "for example 1.0, { keys = [[0.0, 1.0], [2.0, 3.0]] }, or an expression of time: \"1 + 0.5*sin(t)\"";

impl Kind for Animated {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text.trim().parse::<f64>().is_ok() => {
                reader.wrong(node, "a number", "leave out the quotes")
            }
            Value::Text(_) => {
                let text = String::read(node, reader)?;
                Some(Animated { typed: AnimatedText::Expression(text), curve: Curve::Constant(0.0) })
            }
            Value::Table(_) => {
                let keys = Keyframes::read(node, reader, Some(1))?;
                Some(Animated { curve: keys.curve(0), typed: AnimatedText::Keys(keys) })
            }
            Value::Float(_) | Value::Int(_) => f64::read(node, reader).map(Animated::constant),
            _ => reader.wrong(node, "a number, keyframes or an expression", ANIMATED),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "number" }, { "type": "string" }, KeyTable::schema()] })
    }
    fn kind() -> String {
        "number over time".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match &self.typed {
            AnimatedText::Number(value) => value.write(writer),
            AnimatedText::Keys(keys) => keys.write(writer),
            AnimatedText::Expression(text) => quoted(text),
        }
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        match &self.typed {
            AnimatedText::Number(value) => visit(*value, span),
            AnimatedText::Keys(keys) => keys.keys.iter().flat_map(|(_, v)| v).for_each(|value| visit(*value, span)),
            AnimatedText::Expression(_) => {}
        }
    }
    fn curves(&self, span: Span, visit: &mut dyn FnMut(&Curve, Span)) {
        if let AnimatedText::Expression(_) = self.typed {
            visit(&self.curve, span);
        }
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        if let AnimatedText::Expression(text) = &self.typed {
            self.curve = resolver.curve(text, span, path);
        }
    }
}

impl Plain for Animated {
    type Plain = Curve;
    fn plain(&self) -> Curve {
        self.curve.clone()
    }
}

/// A vector that may change with time: one number over time per axis, or keyframes of vectors.
#[derive(Clone, Debug, PartialEq)]
pub enum AnimatedVector {
    /// One for each axis.
    Axes(Vec<Spanned<Animated>>),
    /// `{ keys = [[0.0, [0.0, 1.0]], ...] }`.
    Keys(AnimatedKeys),
}

/// Keyframes of vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct AnimatedKeys(Keyframes);

impl AnimatedVector {
    /// The same at all times.
    pub(crate) fn constant(values: &[f64]) -> Self {
        let axis = |&value: &f64| Spanned { value: Animated::constant(value), span: Span::DEFAULT };
        AnimatedVector::Axes(values.iter().map(axis).collect())
    }
}

impl Kind for AnimatedVector {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match &node.value {
            Value::Table(_) => Keyframes::read(node, reader, None).map(|keys| AnimatedVector::Keys(AnimatedKeys(keys))),
            Value::List(_) => Vec::read(node, reader).map(AnimatedVector::Axes),
            _ => reader.wrong(
                node,
                "a list",
                "one number per axis: [1.0, 0.0]; each may be an expression of time: [\"sin(t)\", 0.0]; or keyframes: \
                 { keys = [[0.0, [1.0, 0.0]], [2.0, [0.0, 1.0]]] }",
            ),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [Vec::<Animated>::schema(), KeyTable::schema()] })
    }
    fn kind() -> String {
        "vector over time".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match self {
            AnimatedVector::Axes(axes) => axes.write(writer),
            AnimatedVector::Keys(AnimatedKeys(keys)) => keys.write(writer),
        }
    }
    fn numbers(&self, span: Span, visit: &mut dyn FnMut(f64, Span)) {
        match self {
            AnimatedVector::Axes(axes) => axes.numbers(span, visit),
            AnimatedVector::Keys(AnimatedKeys(keys)) => {
                keys.keys.iter().flat_map(|(_, v)| v).for_each(|value| visit(*value, span));
            }
        }
    }
    fn curves(&self, span: Span, visit: &mut dyn FnMut(&Curve, Span)) {
        if let AnimatedVector::Axes(axes) = self {
            axes.curves(span, visit);
        }
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        let length = match self {
            AnimatedVector::Axes(axes) => {
                axes.complete(span, path, resolver);
                axes.len()
            }
            AnimatedVector::Keys(AnimatedKeys(keys)) => keys.keys[0].1.len(),
        };
        if !resolver.has_length(length, span, path) {
            *self = AnimatedVector::constant(&vec![0.0; resolver.d]);
        }
    }
}

impl Plain for AnimatedVector {
    type Plain = Vec<Curve>;
    fn plain(&self) -> Vec<Curve> {
        match self {
            AnimatedVector::Axes(axes) => axes.iter().map(|axis| axis.plain()).collect(),
            AnimatedVector::Keys(AnimatedKeys(keys)) => (0..keys.keys[0].1.len()).map(|a| keys.curve(a)).collect(),
        }
    }
}

/// Degrees about x, y and z that may change with time; in 2D one number.
#[derive(Clone, Debug, PartialEq)]
pub struct AnimatedAngles {
    angles: AnimatedVector,
    /// Whether it is one number, not a list.
    one: bool,
}

impl AnimatedAngles {
    /// Not turned.
    pub(crate) fn none(flat: bool) -> Self {
        AnimatedAngles { angles: AnimatedVector::constant(&vec![0.0; if flat { 1 } else { 3 }]), one: flat }
    }

    /// About x, y and z.
    pub(crate) fn curves(&self) -> [Curve; 3] {
        let curves = self.angles.plain();
        match curves.as_slice() {
            [x, y, z] => [x.clone(), y.clone(), z.clone()],
            [angle, ..] => [Curve::default(), Curve::default(), angle.clone()],
            [] => Default::default(),
        }
    }
}

impl Kind for AnimatedAngles {
    fn read(node: &Node, reader: &mut Reader<'_, '_>) -> Option<Self> {
        match node.value {
            Value::List(_) => AnimatedVector::read(node, reader).map(|angles| AnimatedAngles { angles, one: false }),
            Value::Table(_) => {
                let keys = Keyframes::read(node, reader, None)?;
                let one = keys.keys[0].1.len() == 1;
                Some(AnimatedAngles { angles: AnimatedVector::Keys(AnimatedKeys(keys)), one })
            }
            _ => {
                let value = Spanned::<Animated>::read(node, reader)?;
                Some(AnimatedAngles { angles: AnimatedVector::Axes(vec![value]), one: true })
            }
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [Animated::schema(), Vec::<Animated>::schema()] })
    }
    fn kind() -> String {
        "three angles over time; in 2D one".to_owned()
    }
    fn write(&self, writer: &Writer) -> String {
        match &self.angles {
            AnimatedVector::Axes(axes) if self.one => axes[0].write(writer),
            angles => angles.write(writer),
        }
    }
    fn complete(&mut self, span: Span, path: &str, resolver: &mut Resolver<'_>) {
        let count = match &mut self.angles {
            AnimatedVector::Axes(axes) => {
                axes.complete(span, path, resolver);
                axes.len()
            }
            AnimatedVector::Keys(AnimatedKeys(keys)) => keys.keys[0].1.len(),
        };
        let flat = resolver.d == 2;
        if (count, self.one) != (if flat { 1 } else { 3 }, flat) {
            let start: Vec<f64> = self.angles.plain().iter().map(Curve::start).collect();
            resolver.wrong_angles(&start, span, path);
            *self = AnimatedAngles::none(flat);
        }
    }
}

pub(crate) fn entries(n: usize) -> String {
    if n == 1 { "1 entry".to_owned() } else { format!("{n} entries") }
}
