//! The bytes that a glTF file refers to.

use super::build::{Fault, quote};
use super::read_limited;
use std::path::{Component, Path};

/// The bytes behind an address: in the address itself, or in a file in the folder of the glTF file or below, of at most
/// `most` bytes.
pub fn load(uri: &str, folder: &Path, most: u64) -> Result<Vec<u8>, Fault> {
    if let Some(data) = uri.strip_prefix("data:") {
        let Some((_, encoded)) = data.split_once(";base64,") else {
            return Err(Fault::whole("a \"data:\" address is not in base64: export the file as .glb"));
        };
        return base64(encoded.as_bytes()).ok_or_else(|| Fault::whole("a \"data:\" address is not valid base64"));
    }
    let refuse = |why: &str| {
        let hint = "only files beside the glTF file, or below, are read: put it there, or export as .glb";
        Fault::whole(format!("the buffer {} {why}; {hint}", quote(uri.as_bytes())))
    };
    let name = percent_decoded(uri).ok_or_else(|| refuse("has no valid name"))?;
    // A colon stands in addresses and in Windows drives, a backslash is a separator there.
    if name.contains([':', '\\', '\0']) {
        return Err(refuse("is an address"));
    }
    let relative = Path::new(&name);
    if name.is_empty() || !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(refuse("leads out of the folder"));
    }
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // Links are followed first, then judged.
    let real = folder.join(relative).canonicalize().map_err(|_| refuse("does not exist"))?;
    if !folder.canonicalize().is_ok_and(|folder| real.starts_with(folder)) {
        return Err(refuse("leads out of the folder"));
    }
    read_limited(&real, most).map_err(|error| Fault::whole(error.to_string()))
}

/// "%20" and the like as characters.
fn percent_decoded(uri: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

/// Four letters of six bits are three bytes; "=" fills up the last four.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.trim_ascii();
    let letters = text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text);
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3 + 2);
    for four in letters.chunks(4) {
        let mut bits = 0u32;
        for &letter in four {
            let value = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        bits <<= 6 * (4 - four.len());
        let [_, three @ ..] = bits.to_be_bytes();
        // One letter alone is not even a byte.
        bytes.extend_from_slice(three.get(..four.len().checked_sub(1).filter(|&n| n > 0)?)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_known_texts() {
        // RFC 4648, section 10.
        for (text, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(encoded.as_bytes()).unwrap(), text.as_bytes());
        }
        assert_eq!(base64(b"Zg="), Some(b"f".to_vec()), "padding is not counted");
        for bad in ["Z", "Zm9vY", "Zm 9v", "Zm9v====", "Zm\u{f6}9v"] {
            assert_eq!(base64(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn percent_signs() {
        assert_eq!(percent_decoded("a%20b%2e").as_deref(), Some("a b."));
        for bad in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(percent_decoded(bad), None);
        }
    }
}
