//! A scene as a part of a web address: compressed, in letters that addresses may have (base64url, RFC 4648).

use miniz_oxide::{deflate, inflate};
use squall::scene::MAX_BYTES;

/// Makes a link of a scene.
pub type Share = fn(&str) -> Result<String, String>;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A scene as letters.
pub fn encode(scene: &str) -> String {
    let packed = deflate::compress_to_vec(scene.as_bytes(), 9);
    let letters = |group: &[u8]| {
        let bits = group.iter().enumerate().fold(0, |bits, (i, &byte)| bits | u32::from(byte) << (16 - 8 * i));
        let letter = move |i: usize| char::from(LETTERS[(bits >> (18 - 6 * i) & 63) as usize]);
        (0..group.len() + 1).map(letter).collect::<String>()
    };
    packed.chunks(3).map(letters).collect()
}

/// The scene that letters stand for.
pub fn decode(letters: &str) -> Result<String, String> {
    let broken = || "the link is not whole: its scene cannot be read".to_owned();
    let mut packed = Vec::with_capacity(letters.len());
    for group in letters.as_bytes().chunks(4) {
        let mut bits = 0;
        for (i, letter) in group.iter().enumerate() {
            let value = LETTERS.iter().position(|known| known == letter).ok_or_else(broken)?;
            bits |= value << (18 - 6 * i);
        }
        packed.extend((1..group.len()).map(|i| (bits >> (24 - 8 * i)) as u8));
    }
    let scene = inflate::decompress_to_vec_with_limit(&packed, MAX_BYTES).map_err(|_| broken())?;
    String::from_utf8(scene).map_err(|_| broken())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenes_of_the_gallery_come_back_from_short_links() {
        for scene in squall::gallery::all() {
            let letters = encode(scene.text);
            assert!(letters.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "{letters}");
            // What is longer is cut by some programs that links are sent with.
            assert!(letters.len() < 2000, "{}: {}", scene.name, letters.len());
            assert_eq!(decode(&letters).as_deref(), Ok(scene.text));
        }
        // All three lengths of the last group, and letters of several bytes.
        for text in ["", "a", "ab", "abc", "\u{e4}\u{4e16}"] {
            assert_eq!(decode(&encode(text)).as_deref(), Ok(text));
        }
    }

    #[test]
    fn links_that_are_cut_or_wrong_or_too_large_are_refused() {
        let letters = encode(squall::gallery::all()[0].text);
        for wrong in [&letters[..letters.len() / 2], "A", "not a link!", "____"] {
            assert!(decode(wrong).unwrap_err().contains("not whole"), "{wrong}");
        }
        assert!(decode(&encode(&" ".repeat(MAX_BYTES + 1))).is_err());
    }
}
