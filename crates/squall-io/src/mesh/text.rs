//! Numbers and long lists as text, quickly: lists are put into words on all threads and written in order.

use rayon::prelude::*;
use std::fmt::{Display, LowerExp};
use std::io::{self, Write};

/// Items that a thread puts into words at a time.
const CHUNK: usize = 1 << 12;
/// Chunks that wait to be written: what bounds the memory.
const WAITING: usize = 64;

/// Appends a number with as many digits as it takes to read the same number back.
pub fn put_number<T: Display + LowerExp + Copy + Into<f64>>(out: &mut Vec<u8>, x: T) {
    let size = x.into().abs();
    // Without exponent, the smallest numbers would be lines of zeros.
    let written = if size != 0.0 && !(1e-5..1e9).contains(&size) { write!(out, "{x:e}") } else { write!(out, "{x}") };
    debug_assert!(written.is_ok(), "memory takes everything");
}

/// Appends a whole number.
pub fn put_whole(out: &mut Vec<u8>, mut n: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Writes a list; `put` appends the text of an item, given its number.
pub fn write_list<T: Sync>(
    file: &mut impl Write,
    items: &[T],
    put: impl Fn(&mut Vec<u8>, usize, &T) + Sync,
) -> io::Result<()> {
    for (i, some) in items.chunks(CHUNK * WAITING).enumerate() {
        let first = i * CHUNK * WAITING;
        let texts: Vec<Vec<u8>> = some
            .par_chunks(CHUNK)
            .enumerate()
            .map(|(chunk, items)| {
                let mut text = Vec::with_capacity(32 * items.len());
                items.iter().enumerate().for_each(|(j, item)| put(&mut text, first + chunk * CHUNK + j, item));
                text
            })
            .collect();
        texts.iter().try_for_each(|text| file.write_all(text))?;
    }
    Ok(())
}
