//! Numbers and strings as they stand in the file, little endian, and a reader that never leaves its bytes.

/// What is wrong with a file, without its name.
pub type Parsed<T> = Result<T, String>;

pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_u32(out, text.len() as u32);
    out.extend_from_slice(text.as_bytes());
}

pub fn put_f64s(out: &mut Vec<u8>, values: &[f64]) {
    values.iter().for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
}

/// Reads a slice from front to back. Lengths that the file claims are compared with what is there before they are used.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn position(&self) -> usize {
        self.at
    }

    /// A reader of the bytes from `start` to `end`.
    pub fn window(&self, start: u64, end: u64) -> Parsed<Self> {
        let whole = self.bytes.len();
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let range = range.filter(|(start, end)| start <= end && *end <= whole);
        let (at, end) = range.ok_or_else(|| {
            format!("bytes {start} to {end} are not in a file of {whole} bytes: it is damaged or cut short")
        })?;
        Ok(Self { bytes: &self.bytes[..end], at })
    }

    pub fn take(&mut self, count: usize) -> Parsed<&'a [u8]> {
        let left = &self.bytes[self.at..];
        let taken = left.get(..count).ok_or_else(|| {
            format!("it ends at byte {}, where {count} more bytes from byte {} belong", self.bytes.len(), self.at)
        })?;
        self.at += count;
        Ok(taken)
    }

    pub fn array<const N: usize>(&mut self) -> Parsed<[u8; N]> {
        let bytes = self.take(N)?;
        Ok(std::array::from_fn(|i| bytes[i]))
    }

    pub fn u8(&mut self) -> Parsed<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u32(&mut self) -> Parsed<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub fn i32(&mut self) -> Parsed<i32> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Parsed<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub fn i64(&mut self) -> Parsed<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    pub fn i32s<const N: usize>(&mut self) -> Parsed<[i32; N]> {
        let mut values = [0; N];
        for value in &mut values {
            *value = self.i32()?;
        }
        Ok(values)
    }

    pub fn f32s<const N: usize>(&mut self) -> Parsed<[f32; N]> {
        Ok(self.i32s()?.map(|bits: i32| f32::from_bits(bits as u32)))
    }

    pub fn f64s<const N: usize>(&mut self) -> Parsed<[f64; N]> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = f64::from_bits(self.u64()?);
        }
        Ok(values)
    }

    /// A mask of `bits` bits, as words.
    pub fn mask(&mut self, bits: usize) -> Parsed<Vec<u64>> {
        let (words, _) = self.take(bits / 8)?.as_chunks::<8>();
        Ok(words.iter().map(|w| u64::from_le_bytes(*w)).collect())
    }

    pub fn text(&mut self, what: &str) -> Parsed<String> {
        let length = self.u32()?;
        let bytes = self.take(length as usize).map_err(|e| format!("{what}: {e}"))?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}
