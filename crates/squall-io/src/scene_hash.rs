//! What tells one scene's output from another's.

use std::fmt;

/// A fingerprint of a scene. How it is computed is the caller's affair; here it is only stored and compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SceneHash(pub [u8; 32]);

impl SceneHash {
    /// Reads what `Display` wrote: 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0; 32];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl From<u64> for SceneHash {
    fn from(hash: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&hash.to_le_bytes());
        Self(bytes)
    }
}

impl fmt::Display for SceneHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for SceneHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SceneHash({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::SceneHash;

    #[test]
    fn a_hash_reads_back_from_its_own_text() {
        let hash = SceneHash(std::array::from_fn(|i| (i * 37) as u8));
        assert_eq!(SceneHash::from_hex(&hash.to_string()), Some(hash));
        assert_eq!(SceneHash::from_hex("12"), None);
        assert_eq!(SceneHash::from_hex(&"ä".repeat(32)), None);
    }
}
