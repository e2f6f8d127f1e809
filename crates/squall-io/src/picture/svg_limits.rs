//! What an SVG drawing may ask for. A few hundred bytes can ask for hours and gigabytes: for numbers that overflow, for
//! copies of copies, for filters of filters. Each limit is far beyond what drawing programs write.

use resvg::tiny_skia::Rect;
use resvg::usvg::roxmltree::{Document, Node, NodeId};
use resvg::usvg::{Group, Tree};
use std::collections::HashMap;

/// Elements, texts and comments in the file.
pub const MOST_NODES: u32 = 400_000;
const MOST_ELEMENTS: usize = 100_000;
/// Elements after everything that is referred to has been put in its place.
const MOST_COPIES: u64 = 1_000_000;
/// Elements in elements.
const DEEPEST: usize = 200;
/// References that lead to references.
const LONGEST_CHAIN: usize = 500;
const MOST_LETTERS: usize = 20_000;
const MOST_PRIMITIVES: usize = 200;
/// Beyond this, 32-bit floats are not even exact to a unit.
const LARGEST: f64 = 1e7;
/// Uses of entities of the file's own, and how long they may be: programs write addresses of namespaces so.
const MOST_ENTITIES: usize = 1_000;
const LONGEST_ENTITY: usize = 1_000;
/// Layers that are in memory at once, in bytes.
const MOST_LAYER_BYTES: f64 = (512 << 20) as f64;

type Checked = Result<(), String>;

/// Entities, before anything is parsed: parsing puts them in place.
pub fn check_entities(text: &str) -> Checked {
    for declared in text.split("<!ENTITY").skip(1) {
        let Some(open) = declared.find(['"', '\'']) else { continue };
        let (quote, value) = declared[open..].split_at(1);
        let value = value.split(quote).next().unwrap_or_default();
        if value.len() > LONGEST_ENTITY || value.contains('<') || uses(value) > 0 {
            return Err(format!(
                "it declares an entity that is no plain text of at most {LONGEST_ENTITY} letters (<!ENTITY ...>)"
            ));
        }
    }
    match uses(text) {
        n if n > MOST_ENTITIES => Err(format!("it uses entities {n} times, where {MOST_ENTITIES} are read")),
        _ => Ok(()),
    }
}

/// How often entities other than those of XML itself are used.
fn uses(text: &str) -> usize {
    let known = ["amp;", "lt;", "gt;", "quot;", "apos;", "#"];
    text.split('&').skip(1).filter(|after| !known.iter().any(|name| after.starts_with(name))).count()
}

/// Everything that can be seen without drawing.
pub fn check_document(document: &Document<'_>) -> Checked {
    let (mut elements, mut letters, mut primitives, mut path_bytes) = (0, 0, 0, 0);
    let mut names: HashMap<&str, Node<'_, '_>> = HashMap::new();
    let mut waiting = vec![(document.root_element(), 1)];
    while let Some((node, depth)) = waiting.pop() {
        elements += 1;
        if elements > MOST_ELEMENTS {
            return Err(format!("it has more than {MOST_ELEMENTS} elements"));
        }
        if depth > DEEPEST {
            return Err(format!("its elements are nested more than {DEEPEST} deep"));
        }
        let kind = node.tag_name().name();
        // Names of all primitives, and of nothing else, begin so.
        primitives += usize::from(kind.starts_with("fe") && kind[2..].starts_with(|c: char| c.is_ascii_uppercase()));
        if kind == "path" {
            path_bytes += node.attribute("d").map_or(0, str::len) as u64;
        }
        for child in node.children() {
            if child.is_element() {
                waiting.push((child, depth + 1));
            } else if let Some(text) = child.text() {
                if kind == "style" {
                    check_numbers(kind, text)?;
                } else {
                    letters += text.trim().chars().count();
                }
            }
        }
        for attribute in node.attributes().filter(|a| a.namespace().is_none()) {
            check_attribute(attribute.name(), attribute.value())?;
        }
        if let Some(id) = node.attribute("id") {
            names.entry(id).or_insert(node);
        }
    }
    if letters > MOST_LETTERS {
        return Err(format!("it has {letters} letters of text, where {MOST_LETTERS} are drawn"));
    }
    if primitives > MOST_PRIMITIVES {
        return Err(format!("its filters have {primitives} steps, where {MOST_PRIMITIVES} are taken"));
    }
    let mut copies = Copies { names, known: HashMap::new() };
    let all = copies.of(document.root_element(), 0)?;
    // A marker is copied to each corner of a path, and a corner takes two letters or more.
    let markers = document.descendants().filter(|node| node.tag_name().name() == "marker");
    let mut largest = 0;
    for marker in markers {
        largest = largest.max(copies.of(marker, 0)?);
    }
    if all.saturating_add(largest.saturating_mul(path_bytes / 2)) > MOST_COPIES {
        return Err(format!("with all that it refers to, it has more than {MOST_COPIES} elements"));
    }
    Ok(())
}

fn check_attribute(name: &str, value: &str) -> Checked {
    let is_word = ["id", "class", "href", "version", "lang", "font-family", "content", "name"].contains(&name);
    if is_word || name.starts_with("data-") || name.starts_with("aria-") {
        return Ok(());
    }
    check_numbers(name, value)?;
    let most = match name {
        "numOctaves" => 16.0,
        "radius" => 100.0,
        "order" => 50.0,
        _ => return Ok(()),
    };
    match numbers(name, value).find(|x| *x > most) {
        Some(x) => Err(format!("`{name}` is {x}, where at most {most} is drawn")),
        None => Ok(()),
    }
}

fn check_numbers(name: &str, text: &str) -> Checked {
    match numbers(name, text).find(|x| x.is_nan() || x.abs() > LARGEST) {
        Some(x) => Err(format!("`{name}` has the number {x:e}, where at most {LARGEST:e} is drawn")),
        None => Ok(()),
    }
}

/// The numbers in the value of an attribute. Those in words (`path123`, `#1e9999`) do not count, but in data of paths and
/// points each letter stands for itself.
fn numbers(name: &str, text: &str) -> impl Iterator<Item = f64> {
    let letters_are_words = !["d", "points"].contains(&name);
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            if letters_are_words && (first.is_alphabetic() || "#_".contains(first)) {
                let end = rest[first.len_utf8()..].find(|c: char| !(c.is_alphanumeric() || "_-".contains(c)));
                rest = end.map_or("", |end| &rest[first.len_utf8() + end..]);
                continue;
            }
            match number_length(rest.as_bytes()) {
                0 => rest = &rest[first.len_utf8()..],
                length => {
                    let (number, after) = rest.split_at(length);
                    rest = after;
                    return Some(number.parse().unwrap_or(f64::NAN));
                }
            }
        }
    })
}

/// How many bytes at the beginning are a number, without its sign.
fn number_length(text: &[u8]) -> usize {
    let digits = |from: usize| text[from..].iter().take_while(|c| c.is_ascii_digit()).count();
    let whole = digits(0);
    let mut length = whole;
    if text.get(length) == Some(&b'.') && text.get(length + 1).is_some_and(u8::is_ascii_digit) {
        length += 1 + digits(length + 1);
    }
    if length > 0 && text.get(length).is_some_and(|c| c.eq_ignore_ascii_case(&b'e')) {
        let sign = usize::from(text.get(length + 1).is_some_and(|c| b"+-".contains(c)));
        let exponent = if length + 1 + sign <= text.len() { digits(length + 1 + sign) } else { 0 };
        length += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    length
}

/// Counts elements together with those that they refer to.
struct Copies<'a, 'input> {
    names: HashMap<&'a str, Node<'a, 'input>>,
    /// `None` while it is being counted: what refers to itself is not drawn.
    known: HashMap<NodeId, Option<u64>>,
}

impl<'a, 'input> Copies<'a, 'input> {
    fn of(&mut self, node: Node<'a, 'input>, depth: usize) -> Result<u64, String> {
        if let Some(known) = self.known.get(&node.id()) {
            return Ok(known.unwrap_or(0));
        }
        if depth > LONGEST_CHAIN {
            return Err(format!("it refers to elements that refer to others, more than {LONGEST_CHAIN} times"));
        }
        self.known.insert(node.id(), None);
        let mut sum = 1_u64;
        for child in node.children().filter(Node::is_element) {
            sum = sum.saturating_add(self.of(child, depth + 1)?);
        }
        for attribute in node.attributes() {
            let references: Vec<&str> = match attribute.name() {
                "href" => attribute.value().strip_prefix('#').into_iter().collect(),
                _ => attribute.value().split("url(").skip(1).filter_map(target).collect(),
            };
            for target in references {
                if let Some(&target) = self.names.get(target) {
                    sum = sum.saturating_add(self.of(target, depth + 1)?);
                }
            }
        }
        self.known.insert(node.id(), Some(sum));
        Ok(sum)
    }
}

/// What `#name)` or `'#name')` names.
fn target(url: &str) -> Option<&str> {
    let url = url.split(')').next()?;
    url.trim_matches(|c: char| c.is_whitespace() || "'\"".contains(c)).strip_prefix('#')
}

/// Layers that drawing will hold at once on a canvas of so many pixels. `scale`: pixels per unit.
pub fn check_layers(tree: &Tree, canvas: [u32; 2], scale: [f32; 2]) -> Checked {
    let pixels = f64::from(canvas[0]) * f64::from(canvas[1]);
    let mut waiting = vec![(tree.root(), pixels)];
    while let Some((group, above)) = waiting.pop() {
        let steps: usize = group.filters().iter().map(|filter| filter.primitives().len() + 1).sum();
        let covers = usize::from(group.mask().is_some()) + usize::from(group.clip_path().is_some());
        let layers = usize::from(group.should_isolate()) + covers + steps;
        let area = on_canvas(group, canvas, scale);
        let here = above + layers as f64 * area;
        if 4.0 * here > MOST_LAYER_BYTES {
            let (bytes, most) = (4.0 * here / 1e6, MOST_LAYER_BYTES / 1e6);
            return Err(format!(
                "its filters, masks and transparent groups take {bytes:.0} MB to draw, where {most:.0} are allowed"
            ));
        }
        for node in group.children() {
            if let resvg::usvg::Node::Group(inner) = node {
                waiting.push((inner, here));
            }
        }
    }
    Ok(())
}

/// How many pixels of the canvas a group covers.
fn on_canvas(group: &Group, canvas: [u32; 2], scale: [f32; 2]) -> f64 {
    let full = f64::from(canvas[0]) * f64::from(canvas[1]);
    let bounds = group.abs_layer_bounding_box();
    let Some(whole) = Rect::from_xywh(0.0, 0.0, canvas[0] as f32, canvas[1] as f32) else { return full };
    let placed = Rect::from_ltrb(
        bounds.left() * scale[0],
        bounds.top() * scale[1],
        bounds.right() * scale[0],
        bounds.bottom() * scale[1],
    );
    match placed {
        Some(placed) => placed.intersect(&whole).map_or(0.0, |r| f64::from(r.width()) * f64::from(r.height())),
        None => full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_attributes() {
        let found = |name: &str, text: &str| numbers(name, text).collect::<Vec<_>>();
        assert_eq!(found("d", "M138 3.4e38L-5,.5e1z1e"), [138.0, 3.4e38, 5.0, 5.0, 1.0]);
        assert_eq!(found("transform", "scale(1e30) translate(-1,2)"), [1e30, 1.0, 2.0]);
        assert_eq!(found("style", "fill:#1e9999;stroke:url(#path1e99);font-size:12em;x-1:3"), [12.0, 3.0]);
        assert_eq!(found("r", "1e999")[0], f64::INFINITY);
        assert_eq!(found("r", "ä1 ü 2"), [2.0]);
    }
}
