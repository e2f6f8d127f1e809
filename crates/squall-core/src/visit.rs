//! Lists of any length and type in the state that is saved: cell types, particle numbers, places of tiles.

use crate::sim::StateVisitor;

/// A number that a list in the state can be made of.
pub trait Plain: Copy + Default {
    /// How many 32-bit words it takes.
    const WORDS: usize;
    /// Its bits, the low word first.
    fn to_bits(self) -> u64;
    /// The number with these bits.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! plain {
    ($($kind:ty: $words:literal, $to:expr, $from:expr;)*) => {
        $(impl Plain for $kind {
            const WORDS: usize = $words;
            fn to_bits(self) -> u64 {
                let to: fn($kind) -> u64 = $to;
                to(self)
            }
            fn from_bits(bits: u64) -> Self {
                let from: fn(u64) -> $kind = $from;
                from(bits)
            }
        })*
    };
}
plain! {
    u8: 1, |v| v.into(), |b| b as u8;
    u32: 1, |v| v.into(), |b| b as u32;
    i32: 1, |v| (v as u32).into(), |b| b as u32 as i32;
    f32: 1, |v| v.to_bits().into(), |b| f32::from_bits(b as u32);
    u64: 2, |v| v, |b| b;
    f64: 2, |v| v.to_bits(), f64::from_bits;
}

/// Shows a list to the visitor: its length, and its numbers as the words of one array. Restoring makes the list as long as it
/// was.
pub fn visit_list<T: Plain>(visitor: &mut dyn StateVisitor, name: &str, values: &mut Vec<T>) {
    let mut count = values.len() as u64;
    visitor.length(name, &mut count, T::WORDS as u64);
    // Without room the list stays as it is, and the array is of the wrong length.
    let count = count as usize;
    let mut words: Vec<f32> = Vec::new();
    let room = words.try_reserve_exact(count.saturating_mul(T::WORDS)).is_ok();
    if room && values.try_reserve_exact(count.saturating_sub(values.len())).is_ok() {
        values.resize(count, T::default());
    }
    for value in values.iter() {
        let bits = value.to_bits();
        words.extend((0..T::WORDS).map(|w| f32::from_bits((bits >> (32 * w)) as u32)));
    }
    visitor.array(name, &mut words);
    for (value, words) in values.iter_mut().zip(words.chunks_exact(T::WORDS)) {
        let bits = words.iter().rev().fold(0, |bits: u64, word| bits.wrapping_shl(32) | u64::from(word.to_bits()));
        *value = T::from_bits(bits);
    }
}

/// A state kept in memory, to go back to. Two are equal if all their bits are: lists show theirs as numbers, some of which are none.
#[derive(Debug, Default)]
pub struct StateCopy {
    /// What was shown, as hashes of names.
    names: Vec<u64>,
    numbers: Vec<u64>,
    arrays: Vec<Vec<f32>>,
}

impl PartialEq for StateCopy {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&Vec<f32>, &Vec<f32>)| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        };
        self.numbers == other.numbers
            && self.arrays.len() == other.arrays.len()
            && self.arrays.iter().zip(&other.arrays).all(same)
    }
}

impl StateCopy {
    /// Keeps what `visit` shows. `false`: there is no memory for it, and nothing is kept.
    pub fn save(&mut self, visit: impl FnOnce(&mut dyn StateVisitor)) -> bool {
        self.numbers.clear();
        self.names.clear();
        let mut saver = Saver { copy: self, arrays: 0, failed: false };
        visit(&mut saver);
        let Saver { arrays, failed, .. } = saver;
        self.arrays.truncate(arrays);
        if failed {
            *self = StateCopy::default();
        }
        !failed
    }

    /// What it takes of memory, in bytes.
    pub fn bytes(&self) -> usize {
        8 * self.numbers.len() + 4 * self.arrays.iter().map(Vec::len).sum::<usize>()
    }

    /// Puts back what was kept, in the same order.
    pub fn restore(&self, visit: impl FnOnce(&mut dyn StateVisitor)) {
        visit(&mut Restorer { numbers: self.numbers.iter(), arrays: self.arrays.iter() });
    }

    /// Puts back what was kept if the same things are shown, of the same sizes, in the same order. `false`: they are not, and what was visited is of no use.
    #[must_use]
    pub fn restore_if_it_fits(&self, visit: impl FnOnce(&mut dyn StateVisitor)) -> bool {
        let (numbers, arrays) = (self.numbers.iter(), self.arrays.iter());
        let mut fitter = Fitter { names: self.names.iter(), restorer: Restorer { numbers, arrays }, fits: true };
        visit(&mut fitter);
        fitter.fits && fitter.names.next().is_none()
    }
}

/// FNV-1a.
fn hash(kind: u8, name: &str) -> u64 {
    let bytes = std::iter::once(kind).chain(name.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

struct Saver<'a> {
    copy: &'a mut StateCopy,
    arrays: usize,
    failed: bool,
}

impl StateVisitor for Saver<'_> {
    fn integer(&mut self, name: &str, value: &mut u64) {
        self.copy.names.push(hash(0, name));
        self.copy.numbers.push(*value);
    }

    fn real(&mut self, name: &str, value: &mut f64) {
        self.copy.names.push(hash(1, name));
        self.copy.numbers.push(value.to_bits());
    }

    fn array(&mut self, name: &str, values: &mut [f32]) {
        self.copy.names.push(hash(2, name));
        if self.copy.arrays.len() == self.arrays {
            self.copy.arrays.push(Vec::new());
        }
        let room = &mut self.copy.arrays[self.arrays];
        self.arrays += 1;
        room.clear();
        self.failed |= room.try_reserve_exact(values.len()).is_err();
        if !self.failed {
            room.extend_from_slice(values);
        }
    }
}

struct Restorer<'a> {
    numbers: std::slice::Iter<'a, u64>,
    arrays: std::slice::Iter<'a, Vec<f32>>,
}

impl StateVisitor for Restorer<'_> {
    fn integer(&mut self, _: &str, value: &mut u64) {
        *value = *self.numbers.next().expect("shown in the same order");
    }

    fn real(&mut self, _: &str, value: &mut f64) {
        *value = f64::from_bits(*self.numbers.next().expect("shown in the same order"));
    }

    fn array(&mut self, _: &str, values: &mut [f32]) {
        values.copy_from_slice(self.arrays.next().expect("shown in the same order"));
    }
}

/// Restores as long as what is shown is what was kept.
struct Fitter<'a> {
    names: std::slice::Iter<'a, u64>,
    restorer: Restorer<'a>,
    fits: bool,
}

impl Fitter<'_> {
    fn is_next(&mut self, kind: u8, name: &str) -> bool {
        self.fits = self.fits && self.names.next() == Some(&hash(kind, name));
        self.fits
    }
}

impl StateVisitor for Fitter<'_> {
    fn integer(&mut self, name: &str, value: &mut u64) {
        if self.is_next(0, name) {
            self.restorer.integer(name, value);
        }
    }

    fn real(&mut self, name: &str, value: &mut f64) {
        if self.is_next(1, name) {
            self.restorer.real(name, value);
        }
    }

    fn array(&mut self, name: &str, values: &mut [f32]) {
        self.fits &= self.restorer.arrays.as_slice().first().is_some_and(|kept| kept.len() == values.len());
        if self.is_next(2, name) {
            self.restorer.array(name, values);
        }
    }

    fn refuse(&mut self, _: &str) {
        self.fits = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_restored_only_where_it_fits() {
        let show = |visitor: &mut dyn StateVisitor, time: &mut f64, list: &mut Vec<f32>, name: &str| {
            visitor.real("time", time);
            visit_list(visitor, name, list);
        };
        let mut copy = StateCopy::default();
        assert!(copy.save(|visitor| show(visitor, &mut 2.5, &mut vec![1.0, 2.0], "list")));
        let (mut time, mut list) = (0.0, vec![0.0; 5]);
        assert!(copy.restore_if_it_fits(|visitor| show(visitor, &mut time, &mut list, "list")));
        assert_eq!((time, list), (2.5, vec![1.0, 2.0]));
        assert!(!copy.restore_if_it_fits(|visitor| show(visitor, &mut 0.0, &mut Vec::new(), "other")));
        assert!(!copy.restore_if_it_fits(|visitor| visitor.real("time", &mut 0.0)), "something is left");
        let longer = |visitor: &mut dyn StateVisitor| {
            show(visitor, &mut 0.0, &mut Vec::new(), "list");
            visitor.integer("more", &mut 0);
        };
        assert!(!copy.restore_if_it_fits(longer));
        let wrong = |visitor: &mut dyn StateVisitor| {
            visitor.real("time", &mut 0.0);
            visitor.integer("list", &mut 0);
            visitor.array("list", &mut [0.0; 3]);
        };
        assert!(!copy.restore_if_it_fits(wrong), "of another length");
    }

    /// Keeps what it sees, or puts it back.
    #[derive(Default)]
    struct Tape {
        integers: Vec<u64>,
        words: Vec<Vec<u32>>,
        restoring: bool,
    }

    impl StateVisitor for Tape {
        fn integer(&mut self, _: &str, value: &mut u64) {
            if self.restoring { *value = self.integers.remove(0) } else { self.integers.push(*value) }
        }
        fn real(&mut self, _: &str, _: &mut f64) {}
        fn array(&mut self, _: &str, values: &mut [f32]) {
            if self.restoring {
                let words = self.words.remove(0);
                values.iter_mut().zip(words).for_each(|(v, w)| *v = f32::from_bits(w));
            } else {
                self.words.push(values.iter().map(|v| v.to_bits()).collect());
            }
        }
    }

    fn comes_back<T: Plain + PartialEq + std::fmt::Debug>(values: &[T]) {
        let mut tape = Tape::default();
        visit_list(&mut tape, "list", &mut values.to_vec());
        tape.restoring = true;
        let mut restored = vec![T::default(); 2];
        visit_list(&mut tape, "list", &mut restored);
        assert_eq!(restored, values);
    }

    #[test]
    fn lists_of_every_type_and_length_come_back_to_the_bit() {
        comes_back::<u8>(&[0, 1, 255]);
        comes_back::<i32>(&[-1, i32::MIN, i32::MAX]);
        // Bits that are no number as `f32`.
        comes_back::<u32>(&[0x7f80_0001, 0xffff_ffff, 7]);
        comes_back::<u64>(&[u64::MAX, 1 << 40, 0x7f80_0001_ff80_0001]);
        comes_back::<f32>(&[-0.0, f32::INFINITY]);
        comes_back::<f64>(&[1e-300, -2.5]);
        comes_back::<u64>(&[]);
    }
}
